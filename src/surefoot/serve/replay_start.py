"""The process that replays a trial: a request on standard input, the answer in a file.

Its limits hold before anything that takes long is imported: it ends with the dashboard from the
beginning.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from surefoot.serve.process_limits import limit_process


def main() -> None:
    """Read the request, write the answer."""
    request = json.loads(sys.stdin.buffer.read())
    target = Path(sys.argv[1])
    limit_process(request["seconds"], request["parent"])
    from surefoot.serve.replay_process import answer

    target.write_text(json.dumps(answer(request, target.parent)), "utf-8")


if __name__ == "__main__":
    main()
