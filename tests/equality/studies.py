"""What is run: studies of every method, their evidence, other commands, and refusals."""

import shlex

_RUN = "--batch 64 --workers 1"
_FUNCTION = f"m.py:scores d.npz --bounds 0,1 {_RUN}"
_NAMED = f"m.py:sharp named.npz --scores probabilities --bounds 0,1 {_RUN}"
_NETWORK = f"model.onnx net.npz --bounds 0,1 {_RUN}"
_NODES = "--nodes-per-input 40 --workers 1 --samples 20"

STUDIES = {
    "estimate": f"estimate {_FUNCTION} --perturb linf:0.3 --each 0.1 --require 0.8",
    "bu-sun": f"estimate {_FUNCTION} --perturb linf:0.3 --each 0.2 --method bu-sun "
    "--pilot-error 0.01 --require 0.3",
    "fixed-size": f"estimate {_NAMED} --perturb linf:0.5 --each 0.2 --method fixed-size "
    "--property true --require 0.99 --require-each dark=0.1,white=0.99",
    "okamoto": f"estimate {_FUNCTION} --perturb l2:1 --each 0.2 --method okamoto "
    "--confidence 0.9 --random 10 --seed 3",
    "precision-these": f"estimate {_FUNCTION} --perturb linf:0.3 --precision 0.05 --require 0.8",
    "precision-population": f"estimate {_FUNCTION} --perturb gaussian:0.3 --precision 0.3 "
    "--about population --require 0.95",
    "suite": f"suite {_FUNCTION} --suite mine.toml --precision 0.1 --require 0.6",
    "levels": f"estimate {_FUNCTION} --perturb linf --levels 0.1,0.3 --each 0.2",
    "groups": f"estimate {_FUNCTION} --perturb linf:0.2 --group shop --each 0.15 --require 0.2",
    "classes": f"estimate {_NAMED} --perturb uniform:0.3 --correct-only --classes dim,light "
    "--each 0.2",
    "confident": f"estimate {_NAMED} --perturb linf:0.2 --property confident:0.5 --each 0.2",
    "network": f"estimate {_NETWORK} --perturb rotation:-20..20+gaussian:0.05 --property topk:2 "
    "--each 0.2 --first 8",
    "unlabelled": f"estimate m.py:scores plain.npy --bounds 0,1 {_RUN} --perturb blur:1 "
    "--each 0.2",
    "table": f"estimate m.py:risk t.csv --labels risk --perturb table:0.3sd --each 0.2 {_RUN}",
    "text": f"estimate m.py:review r.jsonl --perturb m.py:typos:0.1 --each 0.2 {_RUN}",
    "values": f"estimate m.py:value values.npz --perturb linf:0.3 --property close:0.3,of=true "
    f"--each 0.2 --bounds 0,1 {_RUN}",
    "pixels": f"estimate m.py:mask plain.npy --scores values --perturb linf:0.2 "
    f"--property pixels:0.9 --each 0.2 --bounds 0,1 {_RUN}",
    "boxes": f"estimate m.py:boxes plain.npy --scores objects --perturb linf:0.4 "
    f"--property boxes:0.95 --each 0.2 --bounds 0,1 {_RUN}",
    "kappa-test": f"certify {_FUNCTION} --perturb linf:0.2 --kappa 0.05 --max-trials 2000 "
    "--require all",
    "exact-binomial": f"certify {_NAMED} --perturb linf:0.2 --kappa 0.1 --method exact-binomial "
    "--looks 4 --max-trials 1000 --require 0.1 --require-these 0.3 --require-each dark=0.01",
    "certify-levels": f"certify {_FUNCTION} --perturb gaussian --levels 0.1,0.4 --sil 1 "
    "--max-trials 1000 --first 6",
    "attack": f"certify {_NETWORK} --perturb linf:0.1 --kappa 0.1 --attack "
    "--attack-iterations 5 --attack-starts 1",
    "attack-pgd": f"certify {_NETWORK} --perturb l2:0.5 --kappa 0.1 --attack --attack-method pgd "
    "--attack-step 0.1 --require-these 0.99",
    "tail": f"tail {_NAMED} --perturb linf:0.3 --draws 300 --require 0.6",
    "splitting": f"tail {_NETWORK} --perturb gaussian:0.1 --method splitting --particles 12 "
    "--runs 2 --chain 6 --first 2",
    "smooth": f"smooth {_NETWORK} --sigma 0.25 --grid 1/255 --radius 0.1,0.3 --max-trials 2000 "
    "--first 6",
    "tail-levels": f"tail {_NETWORK} --perturb linf --levels 0.1,0.3 --draws 200 --limit 0.7 "
    "--transforms none,logit,yeo-johnson --normality 0.01",
    "curve": f"curve {_NAMED} --perturb brightness:0..0.4 --threshold 0.8,0.5 --by-class "
    "--require 0.1",
    "curve-noise": f"curve {_FUNCTION} --perturb gaussian:0..0.5 --scope population "
    "--threshold 0.5 --resolution 0.05 --require 0.9",
    "curve-asap": f"curve {_FUNCTION} --perturb contrast:0..0.9 --method asap --grid 64",
    "curve-asap-printed": f"curve {_FUNCTION} --perturb contrast:0..0.9 --method asap --as-printed",
    "curve-methods": f"curve m.py:scores m.py:others d.npz --bounds 0,1 {_RUN} "
    "--perturb brightness:0..0.4 --perturb linf:0..0.4 --fixed-draws --compare-methods "
    "--resolution 0.02 --levels 21",
    "curve-confidence": f"curve {_NAMED} --perturb brightness:0..0.4 --measure confidence "
    "--threshold 0.4",
    "curve-assumed": f"curve {_FUNCTION} --perturb rotation:-30..30 --assume bounded-rise:0.05 "
    "--threshold 0.9 --property same",
    "curve-uniform": f"curve {_FUNCTION} --perturb brightness:0..0.4 --method uniform --levels 9",
    "critical": f"critical model.onnx net.npz --bounds 0,1 {_NODES} --at 0.01,8/255 --by-class "
    "--quantile 0.2 --require 0.001",
    "critical-two": f"critical model.onnx old.onnx net.npz --bounds 0,1 {_NODES} --quantile-only "
    "--quantile 0.3",
    "critical-first": f"critical model.onnx net.npz --bounds 0,1 {_NODES} --first 5 "
    "--estimator order-statistics --require 0.2 --quantile 0.4",
    "critical-groups": f"critical model.onnx net.npz --bounds 0,1 {_NODES} --first 4 --group shop",
    "compare": f"compare m.py:scores m.py:others m.py:sharp d.npz --bounds 0,1 {_RUN} "
    "--perturb linf:0.3 --each 0.2 --scores logits --not-worse 0.01 --reference 0.9,0.8,0.7",
    "compare-kappa": f"compare model.onnx old.onnx net.npz --bounds 0,1 {_RUN} --perturb linf:0.1 "
    "--kappa 0.1 --attack --attack-iterations 3 --not-worse 0.9",
    "compare-limit": f"compare model.onnx old.onnx net.npz --bounds 0,1 {_RUN} --limit 0.7 "
    "--perturb linf:0.3",
    "tally": "tally new.csv --by topic --require 0.8 --require-each maths=0.99,law=0.6",
    "tally-two": "tally last.csv new.csv --not-worse 0.01 --group topic",
    "tally-rounds": "tally rounds.csv --case question --require 0.99",
    "tally-harness": "tally samples_quiz.jsonl --outcome acc",
    "tally-inspect": "tally log.json --outcome match --by topic --require 0.5",
    "tally-junit": "tally junit.xml --by classname --confidence 0.9",
    "brackets": "brackets b.csv --split test --quantile 0.2 --at 0.02,8/255 --ceiling 0.4 "
    "--require 0.005",
    "brackets-other": "brackets b.csv --networks large --estimator algorithm-1 "
    "--gamma 0.02 --quantile 0.3",
}  # fmt: skip
"""Each is run, then asked of the store again with --json; times would be decided by the machine,
so batches, workers and nodes are given."""

STORELESS = ("tally", "brackets")
"""Commands that keep nothing."""

FAST = ("estimate", "exact-binomial", "text", "curve", "critical-first", "tally")
"""Studies that the tests run each time."""

EVIDENCE = {
    "estimate": "--model m.py:scores --data d.npz --bounds 0,1 --seed 7",
    "precision-these": "",
    "suite": "--model m.py:scores --data d.npz --bounds 0,1 --seed 7",
    "groups": "",
    "kappa-test": "",
    "attack": "--model model.onnx --data net.npz --bounds 0,1 --seed 7",
    "tail": "",
    "splitting": "",
    "smooth": "",
    "curve": "",
    "curve-noise": "",
    "critical": "",
    "compare": "",
    "compare-kappa": "",
    "gate": "",
}  # fmt: skip
"""Runs whose evidence is written and checked; with these options also by running trials again."""

COMMANDS = {
    "version": "--version",
    "run": "run study.toml --junit gate.xml --undecided skip",
    "run again": "run study.toml --json",
    "run one": "run study.toml --only rare",
    "run beside another": "run study.toml --only noise --previous-model m.py:others --margin 0.2",
    "doctor": "doctor m.py:scores d.npz --bounds 0,1 --perturb linf:0.3",
    "doctor json": "doctor model.onnx net.npz --bounds 0,1 --json",
    "doctor wrong": "doctor m.py:value d.npz --bounds 0,1",
    "perturb list": "perturb --list",
    "perturb list json": "perturb --list --json",
    "perturb one": "perturb rotation:30",
    "perturb one json": "perturb fog --json",
    "plan": "plan m.py:scores d.npz --bounds 0,1 --perturb linf:0.3 --each 0.05 --workers 1",
    "plan json": "plan m.py:scores d.npz --bounds 0,1 --perturb linf:0.3 --kappa 0.01 --json",
    "plan precision": "plan m.py:scores d.npz --bounds 0,1 --perturb linf:0.3 --precision 0.02 "
    "--about population --json",
    "design": "design --width 0.1",
    "design all": "design --width 0.2 --confidence 0.9 --all --json",
    "show": "show latest --store estimate.db",
    "show list": "show --list --store curve-methods.db",
    "show list json": "show --list --json --store levels.db",
    "show check": "show --check --store compare.db",
    "replay": "replay latest 14 0 --store estimate.db --trust",
    "replay json": "replay latest 03 1 --store network.db --json",
    **{
        f"export {to}": f"export latest --store {store}.db --to {to}"
        for to, store in (
            ("model-card", "exact-binomial"), ("hugging-face", "estimate"), ("junit", "kappa-test"),
            ("cyclonedx", "estimate"), ("sentence", "critical"),
        )
    },
    "export required": "export latest --store groups.db --to junit --require 0.9 --undecided skip",
}  # fmt: skip
"""Commands that are run after the studies, beside their stores."""

_WRONG = "estimate m.py:scores d.npz --bounds 0,1"
REFUSALS = (
    "estimate", "nothing", "estimate --perturbe linf:1 m.py:scores d.npz",
    "estimate none.onnx d.npz --perturb linf:0.1", "estimate m.py:none d.npz --perturb linf:0.1",
    "estimate m.py:scores none.npz --perturb linf:0.1",
    f"{_WRONG} --perturb linff:0.1", f"{_WRONG} --perturb linf:-1", f"{_WRONG} --perturb linf",
    f"{_WRONG} --perturb linf:0.1 --each 2", f"{_WRONG} --perturb linf:0.1 --confidence 1.5",
    f"{_WRONG} --perturb linf:0.1 --precision 0.1 --each 0.1",
    f"{_WRONG} --perturb linf:0.1 --method magic",
    f"{_WRONG} --perturb linf:0.1 --each 0.1 --about these",
    f"{_WRONG} --perturb linf:0.1 --property topk:0", f"{_WRONG} --perturb linf:0.1 --classes 9",
    f"{_WRONG} --perturb linf:0.1 --clean-accuracy 90", f"{_WRONG} --perturb linf:0.1 "
    "--normalise mnist", f"{_WRONG} --perturb linf:0.1 --normalise imagenet --mean 0.5",
    f"{_WRONG} --perturb linf:0.1 --require 1.2", f"{_WRONG} --perturb linf:0.1 --group none",
    f"{_WRONG} --perturb linf --levels 0.1 --require 0.5", f"{_WRONG} --perturb linf:0.1 --first 0",
    "estimate m.py:scores d.npz --perturb linf:0.1 --bounds 1,0",
    "certify m.py:scores d.npz --bounds 0,1 --perturb linf:0.1",
    "certify m.py:scores d.npz --bounds 0,1 --perturb rotation:9 --kappa 0.1 --attack",
    "certify m.py:scores d.npz --bounds 0,1 --perturb linf:0.1 --kappa 0.1 --looks 3",
    "tail m.py:scores d.npz --bounds 0,1 --perturb linf:0.1 --limit 0.2",
    "curve m.py:scores d.npz --bounds 0,1 --perturb linf:0..0.1 --curvature 3",
    "curve m.py:scores d.npz --bounds 0,1 --perturb linf:0.3..0.1",
    "critical m.py:scores d.npz --bounds 0,1", "critical model.onnx net.npz",
    "compare m.py:scores d.npz --perturb linf:0.1", "tally d.npz", "tally rounds.csv",
    "tally new.csv --require 7", "brackets new.csv", "run none.toml", "run study.toml --only none",
    "show zzz --store estimate.db", "show --store none.db", "verify m.py",
    "export latest --store estimate.db --to pdf", "replay latest 99 0 --store estimate.db",
    "replay latest 99 0 --store network.db", "perturb rotationn", "design --width 0",
    "plan m.py:scores d.npz --perturb linf:0.1 --kappa 0", "text m.py:review r.jsonl",
    "estimate m.py:review r.jsonl --perturb linf:0.1",
    "estimate m.py:review blank.jsonl --perturb typos:0.1",
    "estimate m.py:review r.jsonl --perturb typos:1.5", "init m.py:none d.npz",
)  # fmt: skip
"""Refused with a sentence and exit code 3 (the first with its help)."""


def words(command: str) -> list[str]:
    """The words that a shell would make of it."""
    return shlex.split(command)
