"""A process that may compute and read, and no more: no file written, nothing started, no network.

Linux's seccomp, for x86-64 and 64-bit ARM: what is not on the list is refused by the kernel, also
what later kernels add.
"""

from __future__ import annotations

import ctypes
import platform
import re
import struct
import sys

_CALLS = """
read 0 63, write 1 64, close 3 57, stat 4 -, fstat 5 80, lstat 6 -, poll 7 -, lseek 8 62,
mmap 9 222, mprotect 10 226, munmap 11 215, brk 12 214, rt_sigaction 13 134,
rt_sigprocmask 14 135, rt_sigreturn 15 139, pread64 17 67, readv 19 65, writev 20 66,
access 21 -, select 23 -, sched_yield 24 124, mremap 25 216, madvise 28 233, dup 32 23,
nanosleep 35 101, getpid 39 172, sendto 44 206, recvfrom 45 207, exit 60 93, uname 63 160,
getcwd 79 17, readlink 89 -, gettimeofday 96 169, getrlimit 97 163,
getrusage 98 165, sysinfo 99 179, times 100 153, getuid 102 174, getgid 104 176,
geteuid 107 175, getegid 108 177, getppid 110 173, sigaltstack 131 132, arch_prctl 158 -,
gettid 186 178, futex 202 98, sched_getaffinity 204 123, getdents64 217 61,
set_tid_address 218 96, restart_syscall 219 128, clock_gettime 228 113, clock_getres 229 114,
clock_nanosleep 230 115, exit_group 231 94, get_mempolicy 239 236, newfstatat 262 79,
readlinkat 267 78, faccessat 269 48, pselect6 270 72, ppoll 271 73, set_robust_list 273 99,
getcpu 309 168, getrandom 318 278, membarrier 324 283, statx 332 291, rseq 334 293,
faccessat2 439 439, open 2 -, openat 257 56, clone 56 220, clone3 435 435, fcntl 72 25,
seccomp 317 277
"""
"""The number of each system call, on x86-64 and on ARM, which lacks some; sending and receiving is
for the one open socket."""
_WRITES = 0x3 | 0x40 | 0x200 | 0x400 | 0x400000
"""O_WRONLY, O_RDWR, O_CREAT, O_TRUNC, O_APPEND, O_TMPFILE."""
_THREAD = 0x10000
"""CLONE_THREAD: a thread of this process, no process."""
_OWNER = 0x8
"""In F_SETOWN, F_SETSIG and F_SETOWN_EX, which send signals to other processes."""
_MACHINES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
"""As seccomp calls it, and which of the two numbers it has."""
_LOAD, _EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06
_ALLOW, _REFUSE, _UNKNOWN = 0x7FFF0000, 0x00050001, 0x00050026
"""Go on; EPERM; ENOSYS, after which the C library takes the older call."""
_NUMBER, _ARCHITECTURE = 0, 4
_NO_NEW_PRIVILEGES, _GET_SECCOMP = 38, 21
_SET_FILTER, _ALL_THREADS = 1, 1
_CHECKED = (
    ("open", 1, _WRITES, _REFUSE, _ALLOW),
    ("openat", 2, _WRITES, _REFUSE, _ALLOW),
    ("clone", 0, _THREAD, _ALLOW, _REFUSE),
    ("fcntl", 1, _OWNER, _REFUSE, _ALLOW),
)
"""Calls that depend on the bits of an argument: what follows where one is set, and where none."""
_NEVER = ("seccomp", "clone3")


def can_confine() -> bool:
    """Whether the kernel can hold a process to that."""
    if sys.platform != "linux" or platform.machine() not in _MACHINES or sys.maxsize < 2**32:
        return False
    return int(ctypes.CDLL(None).prctl(_GET_SECCOMP, 0, 0, 0, 0)) >= 0


def confine() -> None:
    """Hold all threads of this process to computing and reading; OSError where that fails."""
    machine = platform.machine()
    program = _program(machine)
    code = ctypes.create_string_buffer(program, len(program))
    head = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(program) // 8, _at(code)), 16)
    libc = ctypes.CDLL(None, use_errno=True)
    held = libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) == 0
    where = ctypes.c_void_p(_at(head))
    seccomp = _numbers(machine)["seccomp"]
    if not held or libc.syscall(seccomp, _SET_FILTER, _ALL_THREADS, where) != 0:
        raise OSError(ctypes.get_errno(), "the kernel takes no filter of system calls")


def _at(buffer: ctypes.Array[ctypes.c_char]) -> int:
    return ctypes.addressof(buffer)


def _numbers(machine: str) -> dict[str, int]:
    column, rows = _MACHINES[machine][1], re.findall(r"(\w+) (\S+) ([\d-]+)", _CALLS)
    return {name: int(both[column]) for name, *both in rows if both[column] != "-"}


def _program(machine: str) -> bytes:
    """In the instructions of the Berkeley packet filter: each is code, two jumps and a number."""
    numbers, architecture = _numbers(machine), _MACHINES[machine][0]
    steps = [(_LOAD, 0, 0, _ARCHITECTURE), (_EQUAL, 1, 0, architecture), (_RETURN, 0, 0, _REFUSE)]
    steps += [(_LOAD, 0, 0, _NUMBER)]
    others = {*_NEVER, *(name for name, *_ in _CHECKED)}
    for number in (number for name, number in numbers.items() if name not in others):
        steps += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ALLOW)]
    steps += [(_EQUAL, 0, 1, numbers["clone3"]), (_RETURN, 0, 0, _UNKNOWN)]
    for name, argument, bits, if_set, if_not in _CHECKED:
        if name in numbers:
            steps += [(_EQUAL, 0, 4, numbers[name]), (_LOAD, 0, 0, 16 + 8 * argument)]
            steps += [(_ANY_BIT, 0, 1, bits), (_RETURN, 0, 0, if_set), (_RETURN, 0, 0, if_not)]
    steps += [(_RETURN, 0, 0, _REFUSE)]
    return b"".join(struct.pack("HBBI", *step) for step in steps)
