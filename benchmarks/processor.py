"""The name of the processor, which every benchmark prints: times mean little without it."""

from __future__ import annotations

import json
import platform
import re
import shutil
import subprocess
from pathlib import Path


def processor_name(cpu_info: Path = Path("/proc/cpuinfo")) -> str:
    """As Linux names it; on ARM by `lscpu`, as the kernel gives numbers only."""
    names = re.findall(r"^model name\s*:\s*(.+)$", _text(cpu_info), flags=re.MULTILINE)
    return names[0].strip() if names else _by_lscpu() or platform.processor() or platform.machine()


def print_processor() -> None:
    """One line, before the table."""
    print(f"processor: {processor_name()}")


def _text(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:
        return ""


def _by_lscpu() -> str:
    """Maker and model, such as `ARM Neoverse-N1`; empty where there is no lscpu."""
    try:
        words = [shutil.which("lscpu") or "lscpu", "--json"]
        printed = subprocess.run(words, capture_output=True, text=True, check=True)
        entries = json.loads(printed.stdout)["lscpu"]
    except (OSError, ValueError, KeyError, subprocess.CalledProcessError):
        return ""
    values = {}
    while entries:
        entry = entries.pop(0)
        values[entry["field"]] = entry.get("data") or ""
        entries.extend(entry.get("children", ()))
    words = (values.get(field, "") for field in ("Vendor ID:", "Model name:"))
    return " ".join(word for word in words if word.strip("- "))
