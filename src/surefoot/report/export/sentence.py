"""A result as a sentence for a paper, with its citation and what it assumes."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import PurePath

from surefoot.catalogue.methods import METHODS
from surefoot.core import claims
from surefoot.errors import InvalidArgument
from surefoot.records.record import Curves, Record
from surefoot.records.spec import BracketFileSpec, StudySpec
from surefoot.report.export.run import ExportedRun
from surefoot.report.formatting import file_name
from surefoot.report.key_figure import key_figure
from surefoot.report.sentences import sentence
from surefoot.system.text import escape

BU_SUN = (
    "H. Bu and M. Sun, Measuring Robustness of Deep Neural Networks from the Lens of Statistical "
    "Model Checking, IJCNN 2023"
)
MU_LIM = (
    "W. Mu and K. H. Lim, Towards Precise Observations of Neural Model Robustness in "
    "Classification, ICSE Companion 2024"
)
ROMA = (
    "N. Levy and G. Katz, RoMA: a Method for Neural Network Robustness Measurement and "
    "Assessment, 2021"
)
KIELHOEFER = (
    "L. L. Kielhöfer, Robustness Measure for Deep Neural Networks, thesis, Universiteit Leiden 2024"
)
ASAP = (
    "P. Arcaini, A. Bombarda, S. Bonfanti and A. Gargantini, Efficient Computation of Robustness "
    "of Convolutional Neural Networks, AITest 2021"
)
OKAMOTO = (
    "M. Okamoto, Some inequalities relating to the partial sum of binomial probabilities, Annals "
    "of the Institute of Statistical Mathematics 10, 1958"
)
CHEN = (
    "Z. Chen and X. Chen, Exact group sequential methods for estimating a binomial proportion, 2013"
)
MADRY = (
    "A. Madry, A. Makelov, L. Schmidt, D. Tsipras and A. Vladu, Towards Deep Learning Models "
    "Resistant to Adversarial Attacks, ICLR 2018"
)
PUBLISHED = {
    "bu-sun": BU_SUN,
    "okamoto": OKAMOTO,
    "exact-binomial": MU_LIM,
    "published-doubling": MU_LIM,
    "normal-tail": ROMA,
    "asap-curve": ASAP,
    "pgd": MADRY,
}
"""Methods as published, and their papers."""
AFTER = {
    "exact-sequential": CHEN,
    "kappa-test": MU_LIM,
    "sequential-curve": ASAP,
    "critical-level": KIELHOEFER,
    "critical-quantile": KIELHOEFER,
}
"""Methods of surefoot that answer the question of a paper in another way."""
_CALLED = "attack-function"
"""A function of the user's own: whose method that is, the run does not know."""


def citations(version: str, methods: Iterable[str]) -> list[str]:
    """A sentence for surefoot, and one for each method by its name in a record."""
    software = f"Cite surefoot as: The surefoot authors, surefoot, version {version} (software)."
    return [software, *filter(None, map(_method, methods))]


def _method(kind: str) -> str:
    """Whose method it is; empty for a class of the user's own."""
    if kind in PUBLISHED:
        return f"The method, {kind}, is that of: {PUBLISHED[kind]}."
    if kind in AFTER:
        return f"The method, {kind}, is surefoot's own; it is built on: {AFTER[kind]}."
    return f"The method, {kind}, is surefoot's own." if kind in METHODS and kind != _CALLED else ""


_MARKDOWN = re.compile(r"[\\`*_\[\]|~#$]")
"""Characters that begin something in Markdown, wherever they stand in a line."""
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
"""Characters of HTML, which Markdown lets through."""
_LINK = re.compile(r"(?<=:)//|(?<=\bwww)\.", re.IGNORECASE)
"""Where a bare address would become a link."""
_LINE_START = re.compile(r"^(\s*)([-+=]|\d+[.)](?=\s|$))")
"""A list, a heading or a rule, at the beginning of a line."""
_TICKS = re.compile("`+")


def visible(text: str) -> str:
    """The text on one line; a character that is not printed is written as an escape.

    So two names that differ stay different, and none turns the writing direction around.
    """
    return "".join(_visible(character) for character in text)


def _visible(character: str) -> str:
    if character.isprintable():
        return character
    if unicodedata.category(character) == "Zs" or character in "\n\t":
        return " "
    return escape(character)


def markdown(text: str) -> str:
    """The text as Markdown that shows it: no markup, no HTML, no link, one line, one cell."""
    safe = _MARKDOWN.sub(r"\\\g<0>", visible(text))
    for character, entity in _ENTITIES.items():
        safe = safe.replace(character, entity)
    safe = _LINK.sub(lambda match: "".join(f"&#{ord(c)};" for c in match[0]), safe)
    return _LINE_START.sub(lambda match: f"{match[1]}{match[2][:-1]}\\{match[2][-1]}", safe)


def code_block(text: str, language: str = "") -> str:
    """The text in a fence that is longer than any in it; its lines stay."""
    lines = [visible(line) for line in text.split("\n")]
    longest = max((len(ticks) for ticks in _TICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([f"{fence}{language}", *lines, fence])


_DIGITS = 12
"""Characters of a digest: as many as name a run everywhere else."""
_INTERVAL_ALONE = (
    claims.MeanPopulation
    | claims.AccuracyPopulation
    | claims.CleanAccuracy
    | claims.CaseFailure
    | claims.QuantileDifference
)
"""Kinds whose sentence gives the interval and not the estimate."""
_NO_ESTIMATE = ("undecided", "no upper end")
"""What stands in place of a number that is not known."""


def claim_sentence(run: ExportedRun) -> str:
    """What was tested, and the claim in its own words; then verdicts, cautions and citations."""
    if not run.view.headline:
        raise InvalidArgument(
            "this run has no claim at its top that could be one sentence: export it to model-card, "
            "which has all of its claims"
        )
    claim = run.view.headline[0]
    named = [run.parts[name] for name in claim.names if name in run.parts]
    records = named if named and not isinstance(claim, claims.Best) else run.records
    # else of this surefoot, which has just read the file of a run that records none
    version = run.record.environment.get("surefoot") or import_module("surefoot").__version__
    methods = dict.fromkeys(r.spec.method.kind for r in records if isinstance(r.spec, StudySpec))
    lines = [
        f"With surefoot {version}, {_subject(records)}; {_run(run, records)} gave: {_claim(claim)}",
        *(sentence(verdict) for verdict in run.verdicts),
        *run.view.cautions,
        *citations(version, methods),
    ]
    return "\n\n".join(map(visible, lines)) + "\n"


def _claim(claim: claims.Claim) -> str:
    """The claim's own sentence; the estimate too, where that gives the interval alone."""
    text, estimate = sentence(claim), key_figure(claim).number
    if not isinstance(claim, _INTERVAL_ALONE) or claim.value is None or estimate in _NO_ESTIMATE:
        return text
    return f"{text.removesuffix('.')}; the estimate is {estimate}."


def _subject(records: Sequence[Record]) -> str:
    """Models and inputs, perturbation, and what counts as a failure; or the file that was read."""
    studied = [(r, r.spec) for r in records if isinstance(r.spec, StudySpec)]
    if not studied:
        return " and ".join(map(_read, records)) + " were read and not checked"
    models = list(dict.fromkeys(_model(record, spec) for record, spec in studied))
    inputs = " and ".join(dict.fromkeys(_inputs(spec) for _, spec in studied))
    applied = "; or ".join(dict.fromkeys(spec.words.perturbation for _, spec in studied))
    were = "was" if len(models) == 1 else "were"
    record, spec = studied[0]
    rule = f"; perturbed inputs must {spec.words.property}, else they fail"
    if isinstance(record.details, Curves) and spec.property.kind == "confidence":
        rule = ""  # the confidence itself is averaged
    return (
        f"{' and '.join(models)} {were} tested on {inputs} with the perturbation: {applied}{rule}"
    )


def _model(record: Record, spec: StudySpec) -> str:
    name = file_name(record.source.model) if record.source else "a model in memory"
    return f"{name} (SHA-256 {spec.model.digest[:_DIGITS]}, of {spec.model.covers})"


def _inputs(spec: StudySpec) -> str:
    selected = spec.inputs
    number = "1 input" if selected.number == 1 else f"{selected.number:,} inputs"
    return (
        f"{number} of {file_name(spec.words.source)} ({selected.selection}; "
        f"SHA-256 {selected.digest[:_DIGITS]})"
    )


def _read(record: Record) -> str:
    """What was read from which file of others."""
    number, path = len(record.inputs), getattr(record.spec, "path", "")
    if isinstance(record.spec, BracketFileSpec):
        rows = f"{number:,} brackets of the critical radius"
        return f"{rows} in {PurePath(path).name} ({record.spec.selection})"
    return f"the outcomes of {number:,} cases in {PurePath(path).name}"


def _run(run: ExportedRun, records: Sequence[Record]) -> str:
    """The name of the run, how many trials it took, and the seed of their draws."""
    trials = sum(record.trials for record in records)
    seeds = dict.fromkeys(str(r.spec.seed) for r in records if isinstance(r.spec, StudySpec))
    facts = [f"{trials:,} trials"] * (trials > 0) + [f"seed {' and '.join(seeds)}"] * bool(seeds)
    return f"run {run.record.digest[:_DIGITS]}" + f" ({', '.join(facts)})" * bool(facts)
