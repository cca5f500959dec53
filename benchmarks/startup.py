"""First impression: importing, asking for help, the demo, the size of its page.

python benchmarks/startup.py [--quick]     --quick leaves the demo out of the timing repeats
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from processor import print_processor
from tables import print_table

COMMAND = str(Path(sys.executable).with_name("surefoot"))


def seconds(words: list[str], times: int, folder: str = ".") -> float:
    """Median wall-clock time of a command, after one warm-up where there is more than one."""
    taken = []
    for _ in range(times + (times > 1)):
        begun = time.perf_counter()
        subprocess.run(words, check=True, capture_output=True, cwd=folder)
        taken.append(time.perf_counter() - begun)
    return statistics.median(taken[1:] if times > 1 else taken)


def main() -> None:
    """Print the table, then one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    times = 3 if parser.parse_args().quick else 9
    print_processor()
    python = seconds([sys.executable, "-c", "pass"], times)
    numpy = seconds([sys.executable, "-c", "import numpy"], times)
    figures = {
        "import_seconds": seconds([sys.executable, "-c", "import surefoot"], times),
        "help_seconds": seconds([COMMAND, "--help"], times),
    }
    everything = "import surefoot as sf; [getattr(sf, name) for name in sf.__all__]"
    every_name = seconds([sys.executable, "-c", everything], times)
    with tempfile.TemporaryDirectory() as folder:
        figures["demo_seconds"] = seconds([COMMAND, "demo", "--out", folder], 1)
        figures["report_megabytes"] = (Path(folder) / "report.html").stat().st_size / 1e6
    rows = [
        ["import surefoot", f"{figures['import_seconds']:.3f} s", "< 0.5 s"],
        ["surefoot --help", f"{figures['help_seconds']:.3f} s", "< 0.5 s"],
        ["surefoot demo", f"{figures['demo_seconds']:.1f} s", "< 60 s"],
        ["report.html of the demo", f"{figures['report_megabytes']:.3f} MB", "< 2 MB"],
        ["for comparison: every public name imported", f"{every_name:.3f} s", ""],
        ["for comparison: import numpy", f"{numpy:.3f} s", ""],
        ["for comparison: python that does nothing", f"{python:.3f} s", ""],
    ]
    print_table(["what", "ours", "target"], rows)
    print(json.dumps({name: round(value, 4) for name, value in figures.items()}))


if __name__ == "__main__":
    main()
