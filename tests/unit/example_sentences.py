"""The sentence of the example of every kind of claim."""

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
