"""A process that may compute and read, and no more: no file written, nothing started, no network.

Linux's seccomp, for x86-64: what is not on the list is refused by the kernel, also what later
kernels add.
"""

from __future__ import annotations

import ctypes
import platform
import struct
import sys

_ALLOWED = (
    # read, write, close, stat, fstat, lstat, poll, lseek, mmap, mprotect, munmap, brk, rt_sig*
    *range(2), *range(3, 16),
    # pread64, readv, writev, access, select, sched_yield, mremap, madvise, dup, nanosleep, getpid
    17, 19, 20, 21, 23, 24, 25, 28, 32, 35, 39,
    # sendto, recvfrom on the one open socket; exit, uname, fcntl, getcwd, readlink, gettimeofday
    44, 45, 60, 63, 72, 79, 89, 96,
    # getrlimit, getrusage, sysinfo, times, get*id, getppid, sigaltstack, arch_prctl, gettid
    97, 98, 99, 100, 102, 104, 107, 108, 110, 131, 158, 186,
    # futex, sched_getaffinity, getdents64, set_tid_address, restart_syscall, clock_*, exit_group
    202, 204, 217, 218, 219, 228, 229, 230, 231,
    # get_mempolicy, newfstatat, faccessat, pselect6, ppoll, set_robust_list, getcpu, getrandom
    239, 262, 269, 270, 271, 273, 309, 318,
    # membarrier, statx, rseq, faccessat2
    324, 332, 334, 439,
)  # fmt: skip
_OPEN, _CLONE, _OPENAT, _CLONE3 = 2, 56, 257, 435
_WRITES = 0x3 | 0x40 | 0x200 | 0x400 | 0x400000
"""O_WRONLY, O_RDWR, O_CREAT, O_TRUNC, O_APPEND, O_TMPFILE."""
_THREAD = 0x10000
"""CLONE_THREAD: a thread of this process, no process."""
_X86_64 = 0xC000003E
_LOAD, _EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06
_ALLOW, _REFUSE, _UNKNOWN = 0x7FFF0000, 0x00050001, 0x00050026
"""Go on; EPERM; ENOSYS, after which the C library takes the older call."""
_NUMBER, _ARCHITECTURE = 0, 4
_NO_NEW_PRIVILEGES, _GET_SECCOMP = 38, 21
_SECCOMP, _SET_FILTER, _ALL_THREADS = 317, 1, 1


def can_confine() -> bool:
    """Whether the kernel can hold a process to that."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return False
    return int(ctypes.CDLL(None).prctl(_GET_SECCOMP, 0, 0, 0, 0)) >= 0


def confine() -> None:
    """Hold all threads of this process to computing and reading; OSError where that fails."""
    program = _program()
    code = ctypes.create_string_buffer(program, len(program))
    head = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(program) // 8, _at(code)), 16)
    libc = ctypes.CDLL(None, use_errno=True)
    held = libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) == 0
    where = ctypes.c_void_p(_at(head))
    if not held or libc.syscall(_SECCOMP, _SET_FILTER, _ALL_THREADS, where) != 0:
        raise OSError(ctypes.get_errno(), "the kernel takes no filter of system calls")


def _at(buffer: ctypes.Array[ctypes.c_char]) -> int:
    return ctypes.addressof(buffer)


def _program() -> bytes:
    """In the instructions of the Berkeley packet filter: each is code, two jumps and a number."""
    steps = [(_LOAD, 0, 0, _ARCHITECTURE), (_EQUAL, 1, 0, _X86_64), (_RETURN, 0, 0, _REFUSE)]
    steps += [(_LOAD, 0, 0, _NUMBER)]
    for number in _ALLOWED:
        steps += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ALLOW)]
    steps += [(_EQUAL, 0, 1, _CLONE3), (_RETURN, 0, 0, _UNKNOWN)]
    for number, argument, bits, if_set, if_not in (
        (_OPEN, 1, _WRITES, _REFUSE, _ALLOW),
        (_OPENAT, 2, _WRITES, _REFUSE, _ALLOW),
        (_CLONE, 0, _THREAD, _ALLOW, _REFUSE),
    ):
        steps += [(_EQUAL, 0, 4, number), (_LOAD, 0, 0, 16 + 8 * argument)]
        steps += [(_ANY_BIT, 0, 1, bits), (_RETURN, 0, 0, if_set), (_RETURN, 0, 0, if_not)]
    steps += [(_RETURN, 0, 0, _REFUSE)]
    return b"".join(struct.pack("HBBI", *step) for step in steps)
