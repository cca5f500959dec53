#!/usr/bin/env bash
# Install a wheel (default: the one of make dist) in a fresh environment and run the demo there, outside the clone.
set -euo pipefail
wheel="$(realpath "${1:-$(ls -t "$(dirname "$0")"/../dist/*.whl | head -n 1)}")"
place="$(mktemp -d)"
trap 'rm -rf "$place"' EXIT
"${PYTHON:-python3}" -m venv "$place/venv"
"$place/venv/bin/python" -m pip install --quiet --disable-pip-version-check "$wheel[verify]"
mkdir "$place/run"
cd "$place/run"
env -u PYTHONPATH "$place/venv/bin/surefoot" demo --out .
test -s report.html
env -u PYTHONPATH "$place/venv/bin/python" - <<'PYTHON'
import surefoot
from surefoot.compiled.library import compiled_library

if "site-packages" not in surefoot.__file__:
    raise SystemExit(f"imported from {surefoot.__file__}, not from the wheel")
print("images are resampled by", "compiled code" if compiled_library() else "NumPy")
PYTHON
echo "$(basename "$wheel") works in a fresh environment: ${SECONDS} s"
