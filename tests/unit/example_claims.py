"""One claim of each kind, made by hand, and others at the edges of what it can say."""

from dataclasses import fields, replace
from math import inf

from surefoot.core.assumptions import Arithmetic, Jointly, Stated, Together
from surefoot.core.claims import (
    KINDS,
    About,
    CleanFault,
    Continues,
    CurveQuantity,
    Height,
    NoiseOf,
    Outcomes,
    Randomness,
    Requirement,
    Said,
    Sampling,
    Scope,
    Verdict,
)
from surefoot.core.reasons import Why, stated
from surefoot.core.results import NO_GUARANTEE, Footing, Guarantee, Interval

SAMPLE = Stated("the inputs are a random sample")
REAL = Stated("the model computes in real arithmetic")
FALLS = Stated("the curve falls")
ALIKE = Stated("equal classes are alike")
REACHED = Stated("every kind of failure was reached")
SOUND = Guarantee(Footing.SOUND, 0.01)
SAMPLED = Guarantee(Footing.CONDITIONAL, 0.05, (SAMPLE,))
PROVED = Guarantee(Footing.CONDITIONAL, 0.0, (REAL,))
SAMPLED_PROOFS = replace(SAMPLED, assumptions=(SAMPLE, REAL))
FALLING = replace(SAMPLED, assumptions=(FALLS,))
FITTED = Guarantee(Footing.NONE, 1.0, (Stated("the scores are normal far out"),))

INPUT = Scope(About.INPUT, 300, "17")
THESE = Scope(About.THESE, 300)
POPULATION = Scope(About.POPULATION, 300, sampling=Sampling.INDEPENDENT)
SHARE = CurveQuantity(Height.ACCURACY, "blur", "", Interval(0, 2), True)
LEVEL = replace(SHARE, is_share=False)
NOISE = NoiseOf("L2", 0.25, "1/255")
_SAID = {field.name for field in fields(Said)}


def claim(kind, about, promise, **rest):
    said = Said(about, Randomness.FRESH, promise, Continues.ONCE)
    own = {name: value for name, value in rest.items() if name not in _SAID}
    shared = {name: value for name, value in rest.items() if name in _SAID}
    return KINDS[kind](replace(said, **shared), **own)


def changed(made, **changes):
    """The claim with other fields: its own, those that all kinds share, or what was required."""
    shared = {name: changes.pop(name) for name in list(changes) if name in _SAID}
    if "reason" in shared:
        shared["reason"] = stated(shared["reason"])
    if {"requirement", "verdict"} & changes.keys():
        before = made.requirement or Requirement(None, Verdict.PASS)
        number = changes.pop("requirement", before.number)
        verdict = changes.pop("verdict", before.verdict)
        changes["requirement"] = None if verdict is None else Requirement(number, verdict)
    return replace(made, said=replace(made.said, **shared), **changes)


CLAIMS = {
    "failure": claim("failure", INPUT, SOUND, value=0.00801, interval=Interval(0.005049, 0.013001)),
    "kappa": claim("kappa", INPUT, SOUND, kappa=0.01, decision=Verdict.PASS),
    "radius": claim(
        "radius", INPUT, PROVED, random=Randomness.NOTHING, interval=Interval(0.0439999, 0.0450001)
    ),
    "worst": claim(
        "worst", INPUT, replace(SOUND, jointly=Jointly(Together.INPUTS, 300)),
        interval=Interval(0.20009, 0.30991)
    ),
    "tail": claim("tail", INPUT, FITTED, value=3.2e-9),
    "rare_failure": claim(
        "rare_failure", INPUT, Guarantee.given(0.05, (REACHED,)), value=3.12e-9,
        interval=Interval(1.41e-9, 6.9e-9),
    ),
    "mean_set": claim("mean_set", THESE, SOUND, value=0.056, interval=Interval(0.05409, 0.05791)),
    "accuracy_set": claim(
        "accuracy_set", THESE, SOUND, clean=177, under="gaussian 0.1", value=0.442,
        interval=Interval(0.425, 0.46)
    ),
    "accuracy_population": claim(
        "accuracy_population", POPULATION, SAMPLED, clean=177, under="gaussian 0.1", value=0.44,
        interval=Interval(0.4, 0.48)
    ),
    "clean_accuracy": claim(
        "clean_accuracy", POPULATION, SAMPLED, value=0.59, interval=Interval(0.53, 0.65)
    ),
    "accuracy_drop": claim(
        "accuracy_drop", POPULATION, SAMPLED, under="gaussian 0.1", value=0.15,
        interval=Interval(0.11, 0.19)
    ),
    "count_kappa": claim(
        "count_kappa", THESE, SOUND, kappa=0.01, fragile=6, robust=290, at_least=5
    ),
    "published_kappa": claim(
        "published_kappa", THESE, NO_GUARANTEE, kappa=0.01, robust=290, fragile=6, stated=0.05,
        measured=0.1449
    ),
    "counted_accuracy": claim(
        "counted_accuracy", THESE, Guarantee(Footing.SOUND, 0.0), random=Randomness.NOTHING,
        right=273, requirement=Requirement(0.9, Verdict.PASS)
    ),
    "all_kappa": claim(
        "all_kappa", THESE, SOUND, kappa=0.01, requirement=Requirement(1.0, Verdict.PASS)
    ),
    "curve_set": claim(
        "curve_set", THESE, FALLING, quantity=LEVEL, value=1.31,
        interval=Interval(1.300009, 1.329991), threshold=0.8, random=Randomness.FIXED, seed=3
    ),
    "robust_accuracy": claim(
        "robust_accuracy", Scope(About.THESE, 100), PROVED, random=Randomness.NOTHING, radius=0.03,
        proved=91, refuted=4
    ),
    "severity": claim(
        "severity", Scope(About.THESE, 4), PROVED, random=Randomness.NOTHING,
        interval=Interval(0.0109999, 0.0120001), radius=0.03, open=5
    ),
    "mean_radius": claim(
        "mean_radius", Scope(About.THESE, 100), PROVED, random=Randomness.NOTHING,
        interval=Interval(0.0409999, 0.0420001), clean=2
    ),
    "robust_accuracy_population": claim(
        "robust_accuracy_population", POPULATION, SAMPLED_PROOFS, random=Randomness.NOTHING,
        interval=Interval(0.85009, 0.97), radius=0.03
    ),
    "mean_radius_population": claim(
        "mean_radius_population", POPULATION, SAMPLED_PROOFS, random=Randomness.NOTHING,
        interval=Interval(0.0309999, 0.0620001), ceiling=1.0
    ),
    "mean_population": claim(
        "mean_population", POPULATION, SAMPLED, value=0.07, interval=Interval(0.02909, 0.11391)
    ),
    "share_kappa": claim(
        "share_kappa", POPULATION, SAMPLED, value=0.9, interval=Interval(0.85009, 0.97), kappa=0.01
    ),
    "radius_quantile": claim(
        "radius_quantile", POPULATION, SAMPLED_PROOFS, random=Randomness.NOTHING, value=0.015,
        interval=Interval(0.0129999, 0.0190001), share=0.05
    ),
    "curve_population": claim(
        "curve_population", POPULATION, Guarantee(Footing.CONDITIONAL, 0.05, (SAMPLE, FALLS)),
        quantity=SHARE, value=0.6, interval=Interval(0.55009, 0.65001), threshold=0.8
    ),
    "case_failure": claim(
        "case_failure", POPULATION,
        Guarantee(Footing.CONDITIONAL, 0.05, (Stated("these cases are a random sample"),)),
        random=Randomness.NOTHING, counted=Outcomes.CASES, value=0.07,
        interval=Interval(0.02909, 0.11391)
    ),
    "cases_failed": claim(
        "cases_failed", THESE, Guarantee(Footing.SOUND, 0.0), random=Randomness.NOTHING,
        counted=Outcomes.CASES, rate=0.07, failed=21
    ),
    "case_difference": claim(
        "case_difference", POPULATION, SAMPLED, random=Randomness.NOTHING, counted=Outcomes.TRIALS,
        value=0.01, interval=Interval(-0.02109, 0.05401), names=("a.csv", "b.csv")
    ),
    "difference": claim(
        "difference", POPULATION, SAMPLED, value=-0.01, interval=Interval(-0.02109, 0.05401),
        names=("a.onnx", "b.onnx")
    ),
    "best": claim("best", POPULATION, SAMPLED, models=3, names=("a.onnx", "b.onnx")),
    "not_worse": claim(
        "not_worse", POPULATION, SAMPLED, requirement=Requirement(0.02, Verdict.PASS),
        names=("b.onnx", "a.onnx")
    ),
    "curve_not_worse": claim(
        "curve_not_worse", THESE, FALLING, quantity=SHARE, threshold=0.8,
        requirement=Requirement(0.02, Verdict.PASS), names=("b.onnx", "a.onnx")
    ),
    "radius_not_worse": claim(
        "radius_not_worse", THESE, PROVED, random=Randomness.NOTHING,
        requirement=Requirement(0.1, Verdict.PASS), names=("b.onnx", "a.onnx")
    ),
    "quantile_difference": claim(
        "quantile_difference", POPULATION, SAMPLED_PROOFS, value=0.003,
        interval=Interval(0.00100009, 0.0060001), share=0.05, names=("a.onnx", "b.onnx")
    ),
    "suite_mean": claim(
        "suite_mean", THESE,
        Guarantee(Footing.SOUND, 0.05, (), Jointly(Together.CELLS, 75)),
        value=0.61, interval=Interval(0.60009, 0.6199), suite="corruptions", cells=75,
        height=Height.ACCURACY, weakest="glass s5", lowest=0.18,
        lowest_interval=Interval(0.15009, 0.2099)
    ),
    "corruption_error": claim(
        "corruption_error", THESE,
        Guarantee(Footing.SOUND, 0.05, (), Jointly(Together.CELLS, 150)),
        value=0.841, interval=Interval(0.80209, 0.8799), suite="corruptions", rows=15
    ),
    "smoothed_radius": claim(
        "smoothed_radius", INPUT, SOUND, noise=NOISE, value=0.52, interval=Interval(0.52, inf)
    ),
    "certified_accuracy": claim(
        "certified_accuracy", POPULATION, SAMPLED, noise=NOISE, radius=0.5, shown=210, value=0.7,
        interval=Interval(0.64109, 1.0), kept=Height.ACCURACY
    ),
    "classes": claim(
        "classes", POPULATION,
        Guarantee(Footing.CONDITIONAL, 0.01, (ALIKE,), Jointly(Together.PAIRS, 45)),
        differ=7, pairs=45, classes=10
    ),
}  # fmt: skip
"""One of each kind; the ends of intervals lie just inside the next digit that is printed."""
_ARITHMETICS = {
    one.value: {"guarantee": replace(PROVED, assumptions=(one.assumed,))} for one in Arithmetic
}

REQUIRED = {
    "counted_accuracy": {},
    "all_kappa": {},
    "mean_set": {"requirement": 0.05},
    "suite_mean": {"requirement": 0.6},
    "mean_population": {"requirement": 0.05},
    "accuracy_set": {"requirement": 0.8},
    "accuracy_population": {"requirement": 0.8},
    "share_kappa": {"requirement": 0.9},
    "curve_set": {"requirement": 0.5, "quantity": SHARE},
    "curve_population": {"requirement": 0.5},
    "radius_quantile": {"requirement": 0.01},
    "case_failure": {"requirement": 0.05},
    "not_worse": {"requirement": 0.02},
    "curve_not_worse": {"requirement": 0.02},
    "radius_not_worse": {"requirement": 0.1},
    "certified_accuracy": {"requirement": 0.6},
}
"""What is required of each kind of which something can be required."""
_ONE = {"about": Scope(About.THESE, 1)}
_COUNTED = {"random": Randomness.NOTHING, "guarantee": Guarantee(Footing.SOUND, 0.0)}
_FIXED = {"random": Randomness.FIXED, "seed": 7}
_DEGREES = replace(LEVEL, perturbation="rotation", unit="degrees")
_SAME = {"value": 0.0, "interval": Interval(0.0, 0.0)}
EDGES = {
    "rare_failure": {
        "none found": {"value": None, "interval": Interval(0.0, 9.6e-16)},
        "none found, left early": {"value": None, "interval": Interval(0.0, 0.036)},
        "on average": {"about": THESE},
        "confident": {"confident": 0.6},
        "confident, none found, on average": {
            "about": THESE, "confident": 0.6, "value": None, "interval": Interval(0.0, 9.6e-16)
        },
        "label, on average": {"about": THESE, "kept": Height.LABELS_KEPT},
        "not so rare": {"value": 0.0123, "interval": Interval(0.0081, 0.0194)},
        "undecided": {
            "value": None, "interval": None, "guarantee": NO_GUARANTEE,
            "reason": Why.RUNS_DISAGREE.of(4, 1.4e-19, 1.3e-5),
        },
        "undecided, on average": {
            "about": THESE, "value": None, "interval": None, "guarantee": NO_GUARANTEE,
            "reason": Why.RARE_INPUTS_OPEN.of(1, 300, "17", Why.SEVERITY_TIES.of(940, 1000)),
        },
    },
    "tail": {
        "confident": {"confident": 0.6},
        "confident, counted": {
            "confident": 0.6, "interval": Interval(0.0, 0.003),
            "guarantee": replace(FITTED, error=0.05),
        },
    },
    "failure": {"confident": {"confident": 0.6}},
    "smoothed_radius": {
        "none": {"value": None, "interval": None, "right": 0},
        "shifts": {"noise": NoiseOf("shift", 2.0, "")},
        "on average": {"about": THESE, "value": 0.4, "interval": Interval(0.37, inf), "right": 280},
    },
    "certified_accuracy": {
        "these": {"about": THESE, "guarantee": SOUND, "interval": Interval(0.69, 1.0)},
        "these, few": {"about": THESE, "guarantee": SOUND, "shown": 2, "interval": Interval(0, 1)},
        "at the inputs themselves": {"radius": 0.0},
        "nothing": {"interval": Interval(0.0, 1.0)},
        "labels kept, uniform, rounded": {
            "kept": Height.LABELS_KEPT, "noise": NoiseOf("L1", 0.5, "1/1024", rounded=True)
        },
        "shifts": {"noise": NoiseOf("shift", 2.0, "")},
    },
    "kappa": {
        "not decided": {"decision": Verdict.UNDECIDED, "reason": "too few trials"},
        "not decided, counted": {
            "decision": Verdict.UNDECIDED, "reason": "few", "interval": Interval(0.0, 0.01661)
        },
        "refuted": {"decision": Verdict.FAIL},
    },
    "radius": {
        **_ARITHMETICS,
        "nothing known": {"interval": Interval(0.0, inf)},
        "fails when clean": {"interval": Interval(0.0, 0.0)},
        "another norm": {"norm": "feature-wise"},
    },
    "worst": {"fails when clean": {"clean_fault": CleanFault.FAILS}},
    "mean_set": {
        "one input": _ONE,
        "counted": {**_COUNTED, "value": 0.06, "interval": Interval(0.06, 0.06)},
        "one counted": {**_COUNTED, **_ONE, **_SAME},
        "confident": {"confident": 0.6},
        "confident, required": {"confident": 0.6, "requirement": 0.05},
    },
    "accuracy_set": {
        "counted": {**_COUNTED, "value": 0.4, "interval": Interval(0.4, 0.4)},
        "not shown to fall": {"clean": 135},
        "rises": {"clean": 60},
        "no trial": {"value": None, "interval": Interval(0.0, 1.0)},
        "named": {"names": ("my_net.onnx",)},
    },
    "accuracy_population": {"nothing": {"interval": Interval(0.0, 1.0)}},
    "accuracy_drop": {"maybe none": {"interval": Interval(-0.004, 0.03)}},
    "count_kappa": {
        "some wrong when clean": {"clean": 4},
        "all wrong when clean": {"clean": 300, "fragile": 0, "robust": 0, "at_least": 0},
        "one input": {**_ONE, "fragile": 0, "robust": 1, "at_least": 0},
        "none": {"fragile": 0, "at_least": 0},
        "a few may be wrong": {"fragile": 1, "at_least": 0},
    },
    "published_kappa": {"some wrong when clean": {"clean": 4}},
    "all_kappa": {
        "some wrong when clean": {"clean": 4},
        "wrong when clean, all": {"clean": 4, "verdict": None, "interval": Interval(0, 0.01)},
        "one input": _ONE,
        "a share": {"requirement": 0.95},
        "a share refuted": {"requirement": 0.95, "verdict": Verdict.FAIL},
    },
    "mean_population": {
        "nothing": {"interval": Interval(0.0, 1.0)},
        "nearly nothing": {"interval": Interval(0.0, 0.99)},
        "named": {"names": ("my_net.onnx",)},
        "nothing is random": {"random": Randomness.NOTHING},
        "nothing is random, refuted": {
            "random": Randomness.NOTHING, "requirement": 0.1, "verdict": Verdict.FAIL
        },
    },
    "share_kappa": {
        "some wrong when clean": {"clean": 4},
        "some wrong when clean, required": {"clean": 4, "requirement": 0.9},
        "nothing": {"interval": Interval(0.0, 1.0)},
    },
    "robust_accuracy": {
        "stated radius": {"radius": 8 / 255}, "another norm": {"norm": "L2"}, **_ARITHMETICS
    },
    "radius_quantile": {
        "no lower end": {"interval": Interval(0.0, inf), "reason": "few"},
        "an upper end alone": {"interval": Interval(0.0, 0.0190001), "reason": "few"},
        "fails when clean": {"interval": Interval(0.0, 0.0), "reason": "7 of 100 tie"},
        "stated radius": {"requirement": 8 / 255},
        "every digit": {"requirement": 0.012345678},
        "another norm": {"norm": "L2"},
        "another norm, required": {"norm": "L1", "requirement": 0.5},
    },
    "curve_set": {
        "whole range": {"quantity": SHARE, "interval": Interval(0, 1), "reason": "few inputs"},
        "several perturbations": {"quantity": replace(LEVEL, perturbation="blur + jpeg")},
        "unit": {"quantity": _DEGREES},
        "from below zero": {"quantity": replace(_DEGREES, span=Interval(-60, 60))},
        "several, from a level on": {
            "quantity": replace(LEVEL, perturbation="blur + fog", span=Interval(0.25, 60))
        },
        "share in a unit": {"quantity": replace(_DEGREES, is_share=True), "requirement": 0.5},
    },
    "curve_population": {
        "fixed draws": _FIXED,
        "fixed draws, required": {**_FIXED, "requirement": 0.5},
        "never falls": {"value": 1.0, "interval": Interval(1.0, 1.0)},
        "always below": _SAME,
        "crosses": {"quantity": LEVEL, "interval": Interval(1.10001, 1.49999)},
        "whole range": {"interval": Interval(0, 1), "reason": "few inputs"},
    },
    "difference": {
        "tiny": {"value": 1e-6, "interval": Interval(1e-7, 2e-6)},
        "same model": _SAME,
        "confident": {"confident": 0.6},
        "more": {"value": 0.03, "interval": Interval(0.01, 0.05)},
        "robust share": {"value": 0.03, "interval": Interval(0.01, 0.05), "kappa": 0.01},
    },
    "not_worse": {"confident": {"confident": 0.6, "requirement": 0.02}},
    "best": {
        "one": {"names": ("a.onnx",), "guarantee": SOUND},
        "every": {"names": tuple("abc")},
        "every perturbed": {
            "names": ("a under blur:1", "b under blur:1"), "models": 2,
            "guarantee": replace(SAMPLED, jointly=Jointly(Together.PERTURBED, 4)),
        },
    },
    "suite_mean": {
        "nothing random": {
            "guarantee": Guarantee(Footing.SOUND, 0.0), "random": Randomness.NOTHING,
            "interval": Interval(0.61, 0.61), "lowest_interval": Interval(0.18, 0.18),
        },
        "labels kept, of the population": {
            "height": Height.LABELS_KEPT, "about": POPULATION, "guarantee": SAMPLED,
        },
    },
    "corruption_error": {
        "nothing random": {
            "guarantee": Guarantee(Footing.SOUND, 0.0), "random": Randomness.NOTHING,
            "interval": Interval(0.841, 0.841),
        },
        "a baseline without errors": {
            "value": None, "interval": None, "reason": Why.BASELINE_RIGHT.of("fog"),
        },
    },
    "classes": {
        "two alike": {"differ": 0, "pairs": 1, "classes": 2},
        "two with enough inputs": {"differ": 0, "pairs": 1, "classes": 7},
        "none differ": {"differ": 0},
        "all differ": {"differ": 45},
    },
}  # fmt: skip
"""By kind and name: what is different about a claim at an edge, such as none, one or all."""
KEPT_AS = {
    f"{kind}, {name}": (kind, {"kept": kept, **rest})
    for name, kept in (("true label", Height.ACCURACY), ("label", Height.LABELS_KEPT))
    for kind, rest in {
        "failure": {}, "kappa": {}, "worst": {}, "count_kappa": {"clean": 4},
        "all_kappa": {}, "share_kappa": {"requirement": 0.9}, "best": {}, "not_worse": {},
        "difference": {"value": 0.01, "interval": Interval(-0.05401, 0.02109)}, "classes": {},
    }.items()
} | {
    f"{kind}, labels kept{more}": (kind, {"kept": Height.LABELS_KEPT, **rest})
    for kind in ("mean_set", "mean_population")
    for more, rest in {
        "": {}, ", required": {"requirement": 0.05}, ", counted": _COUNTED,
        ", nothing": {"interval": Interval(0.0, 1.0)},
        ", refuted": {"requirement": 0.05, "verdict": Verdict.FAIL},
    }.items()
} | {"mean_set, labels kept, one": ("mean_set", {"kept": Height.LABELS_KEPT, **_ONE})}  # fmt: skip
"""By name: the kind, and what is different where a trial that is kept has a name."""
IMPLAUSIBLE = {
    "one class": Why.ONE_CLASS_GIVEN.of(10),
    "labels": Why.LABELS_READ_OTHERWISE.of(
        0.951, "every label read as one lower", "are the labels shifted?",
        "number the classes from 0"
    ),
    "normalised": Why.PREPARED_OTHERWISE.of("over-255 imagenet", 60, 12, 64),
    "channels": Why.PREPARED_OTHERWISE.of("bgr", 60, 12, 64),
    "layout": Why.PREPARED_OTHERWISE.of("layout", 60, 12, 64),
    "scale": Why.PREPARED_OTHERWISE.of("times-255", 60, 12, 64),
    "little skill": Why.LITTLE_SKILL.of(0.0556),
    "chance": Why.CHANCE_EXPLAINS.of(0.437),
    "few": Why.FEW_TO_DOUBT.of(Why.CHANCE_EXPLAINS.of(0.437)),
}  # fmt: skip
"""Why a PASS would mean nothing."""
CLAIMS_IN_WORDS = {
    **{f"implausible, {name}": changed(
        CLAIMS["mean_set"], requirement=0.05, verdict=Verdict.UNDECIDED,
        reason=Why.IMPLAUSIBLE.of(45, 300, doubt)) for name, doubt in IMPLAUSIBLE.items()},
    "implausible, strength": changed(
        CLAIMS["mean_set"], requirement=0.05, verdict=Verdict.UNDECIDED,
        reason=Why.HARDLY_A_CHANGE.of(0.72, 255.0)),
    "implausible, radius": changed(
        CLAIMS["radius_quantile"], requirement=0.03, verdict=Verdict.UNDECIDED,
        reason=Why.HARDLY_A_RADIUS.of(0.03, 255.0)),
    **CLAIMS,
    **{name: changed(CLAIMS[kind], **rest) for name, (kind, rest) in KEPT_AS.items()},
    **{f"{kind}, {name}": changed(CLAIMS[kind], **rest)
       for kind, edges in EDGES.items() for name, rest in edges.items()},
    **{f"{kind}: {verdict}": changed(CLAIMS[kind], **rest, verdict=verdict, reason=reason)
       for kind, rest in REQUIRED.items()
       for verdict, reason in ((Verdict.PASS, ""), (Verdict.FAIL, ""), (Verdict.UNDECIDED, "few"))},
}  # fmt: skip
"""Every claim whose sentence is kept, by name."""
