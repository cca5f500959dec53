"""`--attack` as a user meets it: one more column, on the screen, in JSON and on the page."""

import json

CERTIFY = ("certify", "model.onnx", "test.npz", "--perturb", "linf:8/255", "--kappa", "0.1",
           "--first", "8", "--property", "true", "--attack", "--attack-starts", "1",
           "--attack-iterations", "8")  # fmt: skip


def test_certify_sets_the_attack_beside_accuracy_and_the_robust_share(workspace):
    done = workspace.run(*CERTIFY, "--report", "a.html", "--explain")
    assert done.returncode in (0, 1, 2), done.stderr
    assert "withstood the attack" in done.stdout
    assert "1 descent of 8 steps towards the nearest class" in done.stdout
    assert "L∞ ball of radius 8/255 within [0, 1]" in done.stdout
    assert "A failed attack proves nothing" in done.stdout
    found = json.loads(workspace.run("show", "--json").stdout)
    attack = found["details"]["attack"]
    assert 0 < attack["withstood"] < 1
    assert attack["withstood"] == 1 - attack["broken"] / 8
    wrong = {row["id"] for row in found["inputs"] if row["label"] != row["predicted"]}
    assert len(wrong) == attack["clean"]
    (claim,) = (c for c in found["claims"] if c["kind"] == "robust_accuracy")
    assert f"{attack['broken']} of 8 inputs can be made to fail" in claim["sentence"]
    page = (workspace.folder / "a.html").read_text()
    assert 'id="baseline"' in page
    assert f"{100 * attack['withstood']:g} %" in page
