"""Compare results with those that are kept here, or write them anew."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.equality.canonical import differences, read_lines, write_lines
from tests.equality.collect import KINDS, RESULTS
from tests.equality.files import write_files


def main() -> int:
    """Exit code 1: something differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.equality", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the results anew")
    write = parser.parse_args().write
    found, begun = 0, time.monotonic()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place).resolve()
        write_files(folder)
        for kind, (make, names) in KINDS.items():
            path = RESULTS / f"{kind}.json"
            results = {name: make(name, folder) for name in names}
            if write:
                write_lines(path, results)
                continue
            for line in differences(read_lines(path), results, kind):
                found += 1
                print(line)
            print(f"{kind}: {len(results)} compared, {time.monotonic() - begun:.0f} s", flush=True)
    print(f"{found} differences" if found else "written" if write else "all equal")
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
