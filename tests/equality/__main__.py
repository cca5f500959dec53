"""Compare results with those that are kept here, or write them anew."""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.equality.canonical import RESULTS, differences, read_lines, write_lines
from tests.equality.collect import ALONE, KINDS
from tests.equality.files import write_files


def main() -> int:
    """Exit code 1: something differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.equality", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the results anew")
    parser.add_argument("names", nargs="*", help="only results of these names")
    given = parser.parse_args()
    found, begun = 0, time.monotonic()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place).resolve()
        write_files(folder)
        for kind, (make, names) in KINDS.items():
            path = RESULTS / f"{kind}.json"
            whole = not given.names or (kind in ALONE and kind in given.names)
            wanted = [name for name in names if whole or name in given.names]
            results = {name: make(name, folder) for name in wanted}
            kept = read_lines(path) if path.exists() else {}
            if given.write:
                every = kept | results
                write_lines(path, {name: every[name] for name in names})
                continue
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
