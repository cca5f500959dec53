"""One claim of each kind, made by hand, and the sentence that it must become."""

from dataclasses import replace

from surefoot.claims import About, Claim, Continues, Randomness, Sampling, Scope, Verdict
from surefoot.results import Footing, Guarantee, Interval

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

SENTENCES_BY_KIND = {
    "failure": (
        "Input 17 fails under 0.8 % of the perturbations (0.5 % to 1.31 %, confidence 99 %)."
    ),
    "kappa": "Input 17 fails under at most 1 in 100 perturbations (confidence 99 %).",
    "radius": (
        "No perturbation of input 17 up to 0.04399 changes its label, if the model computes in "
        "real arithmetic; one of size 0.04501 does: found, and confirmed by the model."
    ),
    "worst": (
        "Input 17 failed most often of the 300 in this run: it fails under 20 % to 31 % of the "
        "perturbations (confidence 99 % for all 300 inputs together)."
    ),
    "tail": (
        "A normal distribution fitted to the scores of input 17 puts its failure probability at"
        " 3.2e-09: an extrapolation, without guarantee (the scores are normal far out)."
    ),
    "mean_set": (
        "Averaged over these 300 inputs, 5.6 % of the perturbations make the model fail (5.4 % "
        "to 5.8 %, confidence 99 %)."
    ),
    "count_kappa": (
        "6 of these 300 inputs were decided to fail under more than 1 in 100 perturbations, 290 "
        "under at most that, 4 are undecided; at least 5 truly fail more often than that "
        "(confidence 99 %)."
    ),
    "all_kappa": (
        "PASS: every one of these 300 inputs fails under at most 1 in 100 perturbations "
        "(one-sided, confidence 99 %)."
    ),
    "curve_set": (
        "Accuracy on these 300 inputs, for these draws of the noise (seed 3), stays at 80 % or "
        "more up to blur 1.31 (1.3 to 1.33, confidence 95 %), if the curve falls."
    ),
    "robust_accuracy": (
        "At radius 0.03, 4 of 100 inputs can be made to fail, 91 are proved to withstand every "
        "perturbation, 5 are open (the model computes in real arithmetic)."
    ),
    "severity": (
        "The 4 inputs that can be made to fail within radius 0.03 have a mean critical radius of "
        "0.01099 to 0.01201 (the model computes in real arithmetic); the 5 open at that radius "
        "have no part in it."
    ),
    "mean_radius": (
        "Averaged over these 100 inputs, the critical radius is 0.04099 to 0.04201 (the model "
        "computes in real arithmetic); 2 inputs fail when clean and count as 0."
    ),
    "robust_accuracy_population": (
        "If the inputs are a random sample and the model computes in real arithmetic, 85 % to 97 % "
        "of inputs of this kind withstand every perturbation up to 0.03 (confidence 95 %)."
    ),
    "mean_radius_population": (
        "If the inputs are a random sample and the model computes in real arithmetic, the mean "
        "critical radius of inputs of this kind is 0.03099 to 0.06201 (confidence 95 %), where "
        "none counts as more than 1."
    ),
    "mean_population": (
        "If the inputs are a random sample, 2.9 % to 11.4 % of the perturbations make the model"
        " fail on inputs of this kind (confidence 95 %)."
    ),
    "share_kappa": (
        "If the inputs are a random sample, 85 % to 97 % of inputs of this kind fail under at "
        "most 1 in 100 perturbations (confidence 95 %)."
    ),
    "radius_quantile": (
        "For all but 5 % of inputs of this kind no perturbation up to 0.01299 makes the model fail "
        "(the 5 % quantile of the critical radius is 0.01299 to 0.01901, confidence 95 %), if the "
        "inputs are a random sample and the model computes in real arithmetic."
    ),
    "curve_population": (
        "If the inputs are a random sample, accuracy on inputs of this kind is 80 % or more at "
        "60 % of the levels of blur from 0 to 2 (55 % to 65.01 %, confidence 95 %), provided "
        "that the curve falls."
    ),
    "case_failure": (
        "If these cases are a random sample, 2.9 % to 11.4 % of such cases fail (confidence 95 %)."
    ),
    "cases_failed": "21 of these 300 cases failed (7 %).",
    "case_difference": (
        "If the inputs are a random sample, on the same 300 cases, averaged over cases, a.csv "
        "fails 1.00 points more often than b.csv (-2.11 to +5.41, confidence 95 %): not shown to "
        "differ."
    ),
    "difference": (
        "If the inputs are a random sample, on the same inputs and perturbations a.onnx fails "
        "1.00 points less often than b.onnx (-2.11 to +5.41, confidence 95 %): not shown to "
        "differ."
    ),
    "best": (
        "If the inputs are a random sample, the most robust of 3 models is a.onnx or b.onnx "
        "(confidence 95 %)."
    ),
    "not_worse": (
        "PASS: b.onnx fails at most 2 points more often than a.onnx (one-sided, confidence 95 %), "
        "if the inputs are a random sample."
    ),
    "curve_not_worse": (
        "PASS: with b.onnx accuracy on these 300 inputs is 80 % or more at a share of the levels "
        "of blur from 0 to 2 that is at most 2 points smaller than with a.onnx (confidence 95 %), "
        "if the curve falls."
    ),
    "radius_not_worse": (
        "PASS: averaged over these 300 inputs, the critical radius with b.onnx is at most 10 % "
        "smaller than with a.onnx, if the model computes in real arithmetic."
    ),
    "quantile_difference": (
        "If the inputs are a random sample and the model computes in real arithmetic, the 5 % "
        "quantile of the critical radius of a.onnx is larger than that of b.onnx by +0.001 to "
        "+0.006001 (confidence 95 %): shown to differ."
    ),
    "classes": (
        "If equal classes are alike, in 7 of the 45 pairs of classes the model fails more often on "
        "one class than on the other; in the others no difference is shown (confidence 99 % for "
        "all 45 pairs together)."
    ),
}
