"""An external verifier for tiny networks: every activation pattern, as a VNN-COMP tool answers."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from surefoot.verify import read_network
from surefoot.verify.vnnlib import read_property
from tests.unit.small_networks import nearest_break

if __name__ == "__main__":
    model, question, _, result = sys.argv[1:]
    box = read_property(Path(question).read_text())
    centre = (box.lower + box.upper) / 2
    radius = float(((box.upper - box.lower) / 2).min())
    distance, point = nearest_break(read_network(model), centre, box.label, -9.0, 9.0)
    text = "unsat\n"
    if distance <= radius:
        text = "sat\n(" + "\n ".join(f"(X_{i} {v:.17g})" for i, v in enumerate(point)) + ")\n"
    Path(result).write_text(text)
