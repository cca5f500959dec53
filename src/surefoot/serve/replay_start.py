"""The process that replays a trial: a request on standard input, the answer in a file.

Its limits hold before anything that takes long is imported: it ends with the dashboard from the
beginning.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

from surefoot.system.memory_limits import free_bytes

_GRACE_SECONDS = 5
"""After which a process ends itself where nobody has ended it."""
_LEAST_BYTES = 4 * 2**30
"""Of private memory beside what the process has: libraries reserve more than they use."""
_PARENT_DEATH_SIGNAL = 1
"""PR_SET_PDEATHSIG of Linux."""


def limit_process(seconds: float, parent: int) -> None:
    """End with process `parent`, after so many seconds, and take no more memory than is free."""
    _end_with(parent)
    most = int(seconds) + _GRACE_SECONDS
    if hasattr(signal, "SIGALRM"):
        signal.signal(signal.SIGALRM, signal.SIG_DFL)  # which ends native code too
        signal.alarm(most)
    with suppress(ImportError):
        import resource

        _limit(resource.RLIMIT_CPU, most * (os.cpu_count() or 1))
        _limit(resource.RLIMIT_CORE, 0)
        # not RLIMIT_AS: what is reserved and never used counts there
        _limit(resource.RLIMIT_DATA, _data_bytes() + max(_LEAST_BYTES, free_bytes() or 0))


def _end_with(parent: int) -> None:
    if sys.platform != "linux":
        return
    import ctypes

    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before the line above
        os._exit(1)


def _data_bytes() -> int:
    """The private memory of this process."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[5])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def _limit(which: int, value: int) -> None:
    import resource

    _, most = resource.getrlimit(which)
    with suppress(OSError, ValueError):
        resource.setrlimit(which, (value if most < 0 else min(value, most), most))


def main() -> None:
    """Read the request, write the answer."""
    request = json.loads(sys.stdin.buffer.read())
    target = Path(sys.argv[1])
    limit_process(request["seconds"], request["parent"])
    from surefoot.serve.replay_process import answer

    target.write_text(json.dumps(answer(request, target.parent)), "utf-8")


if __name__ == "__main__":
    main()
