"""`--attack` as a user meets it: one more column, on the screen, in JSON and on the page."""

import json

CERTIFY = ("certify", "model.onnx", "test.npz", "--perturb", "linf:8/255", "--kappa", "0.1",
           "--first", "8", "--property", "true", "--attack", "--attack-starts", "1",
           "--attack-iterations", "8")  # fmt: skip


def test_certify_sets_the_attack_beside_accuracy_and_the_robust_share(workspace):
    done = workspace.run(*CERTIFY, "--report", "a.html", "--explain")
    assert done.returncode in (0, 1, 2), done.stderr
    assert "withstood the attack" in done.stdout
    assert "1 descent of 8 steps towards each of 9 target classes" in done.stdout
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


def test_compare_attacks_every_model_and_says_why_a_column_is_empty(workspace):
    (workspace.folder / "own.py").write_text(
        "import numpy as np\n"
        "w = np.random.default_rng(0).normal(size=(784, 10)).astype(np.float32)\n"
        "def net(x):\n    return x.reshape(len(x), -1) @ w\n"
    )
    done = workspace.succeed(
        "compare", "model.onnx", "own:net", "test.npz", "--perturb", "l2:0.5", "--kappa", "0.2",
        "--first", "6", "--attack", "--attack-iterations", "5", "--json", "--report", "c.html",
    )  # fmt: skip
    rates = {m["name"]: m["attack"] for m in json.loads(done.stdout)["details"]["members"]}
    assert 0 <= rates["model.onnx"]["withstood"] < 1
    assert rates["own:net"]["withstood"] is None
    page = (workspace.folder / "c.html").read_text()
    assert "own:net: No attack: the model gives scores but no gradients" in page


def test_an_attack_where_there_is_no_ball_says_so_and_changes_nothing_else(workspace):
    words = ("certify", "model.onnx", "test.npz", "--perturb", "rotation:3", "--kappa", "0.2",
             "--first", "3")  # fmt: skip
    plain, attacked = workspace.run(*words), workspace.run(*words, "--attack")
    assert attacked.returncode == plain.returncode, attacked.stderr
    assert "the perturbation rotation offers none" in attacked.stdout
    assert "attack" not in plain.stdout
    assert plain.stdout.splitlines()[0] == attacked.stdout.splitlines()[0]


def test_pgd_and_a_function_of_the_user_are_chosen_by_name(workspace):
    words = ("certify", "model.onnx", "test.npz", "--perturb", "l2:1", "--kappa", "0.2",
             "--first", "6", "--attack-method")  # fmt: skip
    done = workspace.run(*words, "pgd", "--attack-step", "1/4", "--attack-iterations", "6")
    assert done.returncode in (0, 1, 2), done.stderr
    assert "withstood PGD" in done.stdout
    assert "6 steps of length 0.25 each" in " ".join(done.stdout.split())
    (workspace.folder / "own.py").write_text(
        "def brighter(model, images, labels, radius):\n    return (images + radius).clip(0, 1)\n"
    )
    done = workspace.run(*words, "own.py:brighter")
    assert done.returncode in (0, 1, 2), done.stderr
    text = " ".join(done.stdout.split())
    assert "own.py:brighter, a function of the user" in text
    assert "6 points were ignored that the function put outside the ball" in text
