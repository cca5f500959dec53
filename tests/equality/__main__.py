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
    parser.add_argument("names", nargs="*", help="compare only results of these names")
    given = parser.parse_args()
    if given.write and given.names:
        parser.error("all results are written together: leave the names out")
    found, begun = 0, time.monotonic()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place).resolve()
        write_files(folder)
        for kind, (make, names) in KINDS.items():
            path = RESULTS / f"{kind}.json"
            wanted = [name for name in names if not given.names or name in given.names]
            results = {name: make(name, folder) for name in wanted}
            if given.write:
                write_lines(path, results)
                continue
            kept = read_lines(path)
            if given.names:
                kept = {name: kept[name] for name in wanted if name in kept}
            for line in differences(kept, results, kind):
                found += 1
                print(line)
            print(f"{kind}: {len(results)} compared, {time.monotonic() - begun:.0f} s", flush=True)
    print(f"{found} differences" if found else "written" if given.write else "all equal")
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
