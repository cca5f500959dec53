"""One claim of each kind, made by hand."""

from dataclasses import replace

from surefoot.core.claims import About, Claim, Continues, Randomness, Sampling, Scope, Verdict
from surefoot.core.results import Footing, Guarantee, Interval

SAMPLE = "the inputs are a random sample"
REAL = "the model computes in real arithmetic"
SOUND = Guarantee(Footing.SOUND, 0.01)
SAMPLED = Guarantee(Footing.CONDITIONAL, 0.05, (SAMPLE,))
PROVED = Guarantee(Footing.CONDITIONAL, 0.0, (REAL,))
FITTED = Guarantee(Footing.NONE, 1.0, ("the scores are normal far out",))

INPUT = Scope(About.INPUT, 300, "17")
THESE = Scope(About.THESE, 300)
POPULATION = Scope(About.POPULATION, 300, sampling=Sampling.INDEPENDENT)
LEVEL = "level up to which the accuracy under blur is at least"
SHARE = "share of the levels from 0 to 2 at which the accuracy under blur is at least"


def claim(kind, about, promise, **rest):
    random = rest.pop("random", Randomness.FRESH)
    quantity = rest.pop("quantity", "failure probability")
    return Claim(kind, about, random, quantity, promise, Continues.ONCE, **rest)


CLAIMS = {
    "failure": claim("failure", INPUT, SOUND, value=0.00801, interval=Interval(0.005049, 0.013001)),
    "kappa": claim("kappa", INPUT, SOUND, limit=0.01, verdict=Verdict.PASS),
    "radius": claim(
        "radius", INPUT, PROVED, random=Randomness.NOTHING, interval=Interval(0.0439999, 0.0450001)
    ),
    "worst": claim(
        "worst",
        INPUT,
        replace(SOUND, jointly="all 300 inputs"),
        interval=Interval(0.20009, 0.30991),
    ),
    "tail": claim("tail", INPUT, FITTED, value=3.2e-9),
    "mean_set": claim("mean_set", THESE, SOUND, value=0.056, interval=Interval(0.05409, 0.05791)),
    "count_kappa": claim(
        "count_kappa",
        THESE,
        SOUND,
        value=6.0,
        interval=Interval(5.0, 300.0),
        limit=0.01,
        reason="290 under at most that, 4 are undecided",
    ),
    "all_kappa": claim("all_kappa", THESE, SOUND, limit=0.01, verdict=Verdict.PASS),
    "curve_set": claim(
        "curve_set",
        THESE,
        Guarantee(Footing.CONDITIONAL, 0.05, ("the curve falls",)),
        quantity=LEVEL,
        value=1.31,
        interval=Interval(1.300009, 1.329991),
        limit=0.8,
        random=Randomness.FIXED,
        seed=3,
    ),
    "robust_accuracy": claim(
        "robust_accuracy",
        Scope(About.THESE, 100),
        PROVED,
        random=Randomness.NOTHING,
        interval=Interval(0.91, 0.96),
        limit=0.03,
    ),
    "severity": claim(
        "severity",
        Scope(About.THESE, 4),
        PROVED,
        random=Randomness.NOTHING,
        interval=Interval(0.0109999, 0.0120001),
        limit=0.03,
        reason="the 5 open at that radius have no part in it",
    ),
    "mean_radius": claim(
        "mean_radius",
        Scope(About.THESE, 100),
        PROVED,
        random=Randomness.NOTHING,
        interval=Interval(0.0409999, 0.0420001),
        reason="2 inputs fail when clean and count as 0",
    ),
    "robust_accuracy_population": claim(
        "robust_accuracy_population",
        POPULATION,
        Guarantee(Footing.CONDITIONAL, 0.05, (SAMPLE, REAL)),
        random=Randomness.NOTHING,
        interval=Interval(0.85009, 0.97),
        limit=0.03,
    ),
    "mean_radius_population": claim(
        "mean_radius_population",
        POPULATION,
        Guarantee(Footing.CONDITIONAL, 0.05, (SAMPLE, REAL)),
        random=Randomness.NOTHING,
        interval=Interval(0.0309999, 0.0620001),
        limit=1.0,
    ),
    "mean_population": claim(
        "mean_population", POPULATION, SAMPLED, value=0.07, interval=Interval(0.02909, 0.11391)
    ),
    "share_kappa": claim(
        "share_kappa", POPULATION, SAMPLED, value=0.9, interval=Interval(0.85009, 0.97), limit=0.01
    ),
    "radius_quantile": claim(
        "radius_quantile",
        POPULATION,
        Guarantee(Footing.CONDITIONAL, 0.05, (SAMPLE, REAL)),
        random=Randomness.NOTHING,
        value=0.015,
        interval=Interval(0.0129999, 0.0190001),
        limit=0.05,
    ),
    "curve_population": claim(
        "curve_population",
        POPULATION,
        Guarantee(Footing.CONDITIONAL, 0.05, (SAMPLE, "the curve falls")),
        quantity=SHARE,
        value=0.6,
        interval=Interval(0.55009, 0.65001),
        limit=0.8,
    ),
    "case_failure": claim(
        "case_failure",
        POPULATION,
        Guarantee(Footing.CONDITIONAL, 0.05, ("these cases are a random sample",)),
        random=Randomness.NOTHING,
        quantity="share of cases that fail",
        value=0.07,
        interval=Interval(0.02909, 0.11391),
    ),
    "cases_failed": claim(
        "cases_failed",
        THESE,
        Guarantee(Footing.SOUND, 0.0),
        random=Randomness.NOTHING,
        quantity="share of cases that fail",
        value=0.07,
        interval=Interval(0.07, 0.07),
        limit=21.0,
    ),
    "case_difference": claim(
        "case_difference",
        POPULATION,
        SAMPLED,
        random=Randomness.NOTHING,
        quantity="share of trials that fail, averaged over cases",
        value=0.01,
        interval=Interval(-0.02109, 0.05401),
        names=("a.csv", "b.csv"),
    ),
    "difference": claim(
        "difference",
        POPULATION,
        SAMPLED,
        value=-0.01,
        interval=Interval(-0.02109, 0.05401),
        names=("a.onnx", "b.onnx"),
    ),
    "best": claim("best", POPULATION, SAMPLED, value=3.0, names=("a.onnx", "b.onnx")),
    "not_worse": claim(
        "not_worse",
        POPULATION,
        SAMPLED,
        requirement=0.02,
        verdict=Verdict.PASS,
        names=("b.onnx", "a.onnx"),
    ),
    "curve_not_worse": claim(
        "curve_not_worse",
        THESE,
        Guarantee(Footing.CONDITIONAL, 0.05, ("the curve falls",)),
        quantity=SHARE,
        limit=0.8,
        requirement=0.02,
        verdict=Verdict.PASS,
        names=("b.onnx", "a.onnx"),
    ),
    "radius_not_worse": claim(
        "radius_not_worse",
        THESE,
        PROVED,
        random=Randomness.NOTHING,
        requirement=0.1,
        verdict=Verdict.PASS,
        names=("b.onnx", "a.onnx"),
    ),
    "quantile_difference": claim(
        "quantile_difference",
        POPULATION,
        Guarantee(Footing.CONDITIONAL, 0.05, (SAMPLE, REAL)),
        value=0.003,
        interval=Interval(0.00100009, 0.0060001),
        limit=0.05,
        names=("a.onnx", "b.onnx"),
    ),
    "classes": claim(
        "classes",
        POPULATION,
        Guarantee(Footing.CONDITIONAL, 0.01, ("equal classes are alike",), "all 45 pairs"),
        value=7.0,
        limit=45.0,
    ),
}
"""One of each kind; the ends of intervals lie just inside the next digit that is printed."""
