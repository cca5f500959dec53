"""The options of the commands: name, type, default and help of each, once for shell and Python."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

from surefoot.commands import values as v
from surefoot.commands.option import PANEL_OF_RUN
from surefoot.errors import InvalidArgument
from surefoot.records.options import (
    PRECISION,
    FileOptions,
    Option,
    duration,
    option,
    refused,
    refused_value,
)

if TYPE_CHECKING:
    from surefoot.executors.pool import AnyExecutor
    from surefoot.region.attack_method import AnyAttack
    from surefoot.study import Result, Study
    from surefoot.subject.inputs import Inputs


CONFIDENCE = 0.95
"""Of every command. Methods take `error`, 1 − confidence; where it has a default, it is 0.05."""
ESTIMATOR = "shortest-ranks"
"""Of a quantile of critical radii: it assumes no distribution."""
WIDTH = 0.02
STORE = "surefoot.db"
SEED = 1
_CONFIDENCE_HELP = "Confidence of the result."

ModelArgument = Annotated[
    v.AnyModel,
    Option(
        "model.onnx, model.pt2, model.pt (TorchScript), model.joblib or .pkl (with --trust), "
        "package.module:function or file.py:function, https://host/v2/models/name",
        metavar="MODEL",
        argument=True,
    ),
]
DataArgument = Annotated[
    v.AnyData,
    Option(
        "test.npz, x.npy or a table (.csv, .parquet; with --labels), a folder of images or "
        ".wav files, a .csv list of images, texts (.jsonl, .txt), or a folder with --read-as",
        metavar="DATA",
        argument=True,
    ),
]


def _of_run(default: v.Given, text: str, **more: v.Given) -> v.Given:
    return option(default, text, panel=PANEL_OF_RUN, **more)


def several_models(metavar: str, text: str) -> Option:
    """Of a command that takes several: in a shell the data stand behind them."""
    return Option(text, metavar=metavar, argument=True, repeats=True, last="data")


_PERTURB_HELP = (
    "Perturbation and level, for example linf:8/255, rotation:-10..10, fog:s3, blur:1+jpeg:0.5, or "
    "your own function, mine.py:halve:0.5"
)
Perturb = Annotated[
    v.AnyPerturbation, Option(f"{_PERTURB_HELP}. `surefoot perturb --list` lists all.")
]
SeveralPerturb = Annotated[
    v.AnyPerturbation,
    Option(
        f"{_PERTURB_HELP}; `surefoot perturb --list` lists all. Repeat it for a table of several.",
        repeats=True,
    ),
]


def one_or_several(perturb: v.AnyPerturbation) -> tuple[v.AnyPerturbation, ...]:
    """The perturbations of an option that may be repeated."""
    given = tuple(perturb) if isinstance(perturb, list | tuple) else (perturb,)
    if not given:
        raise refused("perturb", perturb, "is an empty list: give one perturbation or more")
    for one in given if len(given) > 1 else ():
        v.as_perturbation(one)  # refuses a mistake before files are read
    return given


def refuse_with_several(given: dict[str, v.Given]) -> None:
    """Refuse options that are about one perturbation."""
    for name, value in given.items():
        if value is not None and value is not False:
            raise refused_value(
                name, value, "is for one perturbation: leave it out, or run each by itself"
            )


@dataclass(frozen=True)
class EstimateOptions:
    """How precisely a failure probability is estimated, and by which method."""

    precision: v.Number | None = option(
        None,
        f"Half-width of the interval for the mean (default: {PRECISION}). Trials go to the inputs "
        "that narrow it most.",
        common=True,
    )
    about: str | None = option(
        None,
        "What the mean of --precision is about: these (inputs) or population (default: these).",
    )
    by_class: bool = option(
        False,
        "With --about population: also the mean of each class, from one trial of each of its "
        "inputs. Estimates of each input (--each) have it anyway.",
    )
    each: v.Number | None = option(
        None,
        "Instead of --precision: how far the estimate of each single input may be from the truth, "
        "such as 0.02. Takes hundreds of times the trials.",
    )
    anytime: bool = option(
        False,
        "With --each: inputs may be added and the claim about the population be read again "
        "whenever one likes, for wider intervals.",
    )
    planned: int | None = option(
        None,
        "With --anytime: about how many inputs there will be in the end, settled before the first "
        "run. At that number a requirement takes little more than without --anytime.",
        least=2,
    )
    confidence: v.Number = option(CONFIDENCE, _CONFIDENCE_HELP)
    method: str | None = option(
        None,
        "With --each: exact-sequential, bu-sun, fixed-size or okamoto (default: exact-sequential).",
    )


@dataclass(frozen=True)
class KappaOptions:
    """Which failure probability is allowed, and how that is tested."""

    kappa: v.Number | None = option(
        None, "The largest allowed failure probability, such as 1e-3.", common=True
    )
    sil: int | None = option(
        None, "Instead of --kappa: low-demand limit of a SIL, IEC 61508.", least=1, most=4
    )
    confidence: v.Number = option(CONFIDENCE, _CONFIDENCE_HELP)
    method: str = option(
        "kappa-test",
        "kappa-test or exact-binomial; published-doubling is the rule of Mu & Lim as published, "
        "without guarantee.",
    )
    max_trials: int | None = option(None, "Maximum trials per input (default: 200/kappa).", least=1)
    extra_trials: v.Number | None = option(
        None,
        "For kappa-test: most further trials of fragile inputs, to refute that all are robust and "
        "to count those that are not, relative to all others (default: 0.5).",
    )
    looks: int | None = option(
        None,
        "For exact-binomial: number of interim analyses (default: 8); 1 is a fixed size.",
        least=1,
    )


@dataclass(frozen=True)
class TailOptions:
    """Which mistake is rare, and how its probability is extrapolated or searched for."""

    method: str | None = option(
        None,
        "normal-tail (RoMA: extrapolated, without guarantee; the default), or splitting: failures "
        "too rare to count are searched for.",
        common=True,
    )
    limit: v.Number | None = option(
        None, "Confidence that no wrong class may reach, from 0.5 to 1 (default: 0.6).", common=True
    )
    property: str | object | None = option(
        None, "In place of --limit, for a model without classes: close:0.5, iou:0.8."
    )
    draws: int | None = option(None, "Trials per input (default: 1000).", least=20)
    normality: v.Number | None = option(
        None, "Level of the Anderson-Darling test of normality (default: 0.05)."
    )
    transforms: str | Sequence[str] | None = option(
        None,
        "Transforms to try, in this order: none, box-cox, logit, yeo-johnson (default: "
        "none,box-cox).",
    )
    particles: int | None = option(
        None, "For splitting: particles of each run (default: 50).", least=10
    )
    runs: int | None = option(None, "For splitting: independent runs (default: 4).", least=2)
    chain: int | None = option(
        None, "For splitting: steps by which a particle is moved (default: 20).", least=1
    )
    least: v.Number | None = option(
        None,
        "For splitting: leave an input below this failure probability (default: 1e-15).",
    )
    about: str | None = option(
        None,
        "For splitting: each (every input by itself; the default), or these (their mean: an input "
        "is left as soon as it hardly contributes).",
    )
    confidence: v.Number = option(CONFIDENCE, _CONFIDENCE_HELP)


@dataclass(frozen=True)
class PropertyOptions:
    """When an output counts as kept."""

    property: str | object | None = option(
        None,
        "When an output counts as right: true (label), same (label as when clean), topk:5, "
        "confident:0.6; default: true, or same without labels. Without classes: close:0.5, "
        "close:5%, pixels:0.95, iou:0.8, boxes:0.5, labels:0.5, each also with ,of=true.",
    )


@dataclass(frozen=True)
class LevelsOptions:
    """Levels to measure one after the other, and where their figure goes."""

    levels: v.Numbers | None = option(
        None,
        "Repeat at these levels and compare: --perturb linf --levels 0.01,4/255. Not with a "
        "requirement.",
    )
    figure: str | Path | None = option(
        None,
        "With --levels or several --perturb: write the figure here: curve.svg, .png, .pdf or "
        ".json.",
    )

    def check(self) -> None:
        """Refuse what makes no sense before anything is read or run."""
        if self.figure is not None and self.levels is None:
            raise refused_value(
                "figure", self.figure, "needs several levels: add levels (--levels 0.01,0.02,0.04)"
            )
        v.check_figure_file(self.figure)


@dataclass(frozen=True)
class CleanOptions:
    """What is required of the clean accuracy, and whether an implausible one is accepted."""

    clean_accuracy: v.Number | None = option(
        None, "Require that at least this share of these inputs is right when clean: 0.9 (counted)."
    )
    accept_clean_accuracy: bool = option(
        False,
        "Let requirements pass although clean inputs are answered no better than by a guess, or "
        "better with another preprocessing, or the level hardly changes images (doctor: BAD).",
    )


@dataclass(frozen=True)
class RunOptions(FileOptions, CleanOptions):
    """What every run takes: how files are read, what is required of clean inputs, the seed, where
    the result goes, and how many work on it.
    """

    seed: int = option(SEED, "Random seed.", least=0)
    report: str | Path | None = option(None, "Write the HTML report to this file.", common=True)
    store: str | Path | None = option(
        STORE,
        "File or postgresql:// URL of the evidence; the same command resumes from it.",
        common=True,
    )
    workers: int | None = _of_run(
        None,
        "Workers: threads, or processes where the model is Python code (default: chosen for the "
        "model).",
        least=1,
    )
    executor: str | object | None = _of_run(
        None, "Where the workers run: threads, processes or ray (default: what helps)."
    )
    ray_address: str | None = _of_run(
        None,
        "With --executor ray: HOST:PORT of a running cluster, or auto (default: started here).",
    )

    def check(self) -> None:
        """Refuse what cannot be written, before anything is read."""
        from surefoot.executors.pool import check_executor

        v.check_page_file("report", self.report)
        check_executor(self._executor())

    def arguments(self) -> dict[str, v.Given]:
        """For `Study.run`, `compare` and `sweep`; two of them only where they are options."""
        store = None if self.store is None else str(self.store)
        given = {name: x for name, x in vars(self).items() if name in ("batch", "time_limit")}
        if given.get("time_limit") is not None:
            given["time_limit"] = duration("time_limit", given["time_limit"])
        return {"store": store, "workers": self.workers, "executor": self._executor(), **given}

    def _executor(self) -> AnyExecutor:
        """With the address, which is of Ray alone."""
        from surefoot.executors.ray_connection import Ray

        if self.ray_address is None:
            return cast("AnyExecutor", self.executor)
        if self.executor != "ray":
            raise refused_value(
                "ray_address",
                self.ray_address,
                "is for Ray alone: add executor ray (--executor ray), or leave it out",
            )
        return Ray(self.ray_address)

    def check_clean(self, inputs: Inputs) -> None:
        """Refuse a floor that is no share, or where nothing can be counted, before a run."""
        if self.clean_accuracy is None:
            return
        v.share("clean_accuracy", self.clean_accuracy)
        if inputs.labels is None:
            raise refused_value(
                "clean_accuracy", self.clean_accuracy, "needs labels of classes: leave it out"
            )

    def finish(
        self,
        result: Result,
        command: str,
        figure: str | Path | None = None,
        **required: v.Given,
    ) -> Result:
        """The result of `command` with the verdict on each requirement, kept in the store.

        Writes the figure and the report.
        """
        from surefoot.store.outcomes import keep_outcome, with_chain

        floor = self.clean_accuracy
        if floor is not None or any(one is not None for one in required.values()):
            result = result.require(
                clean_accuracy=None if floor is None else v.share("clean_accuracy", floor),
                accept_clean_accuracy=self.accept_clean_accuracy,
                **required,
            )
        result = result.repeated_by(command)
        records = {name: part.record for name, part in result.parts.items()}
        where = None if self.store is None else str(self.store)
        result = replace(result, record=with_chain(result.record, records, where))
        keep_outcome(result.record, records, where, command)
        if figure is not None:
            result.plot(figure)
        if self.report is not None:
            result.report(self.report)
        return result


@dataclass(frozen=True)
class BatchOptions(RunOptions):
    """The same, and how the work is divided in time."""

    batch: int | None = _of_run(None, "Trials per batch (default: measured).", least=1)
    time_limit: v.Number | None = _of_run(
        None,
        "Conclude each curve with what is known after this time: 60, 90s, 10m, 1h. The same "
        "command goes on from there. Only for methods that can conclude early.",
    )


@dataclass(frozen=True)
class ProofTimeOptions(RunOptions):
    """The same, and when a run of proofs concludes."""

    time_limit: v.Number | None = _of_run(
        None,
        "Conclude each network with the brackets known after this time: 60, 90s, 10m, 1h. Proofs "
        "that have begun are awaited; the same command goes on from there.",
    )


_EACH_HELP = "Require the same of every class: 0.9; or of the classes named: stop=0.99,parking=0.9."


@dataclass(frozen=True)
class RequirementOptions:
    """Requirements of the population and of each class."""

    require: v.Number | None = option(
        None,
        "Require at least this accuracy when perturbed: 0.8 (without labels: this share of labels "
        "kept).",
        common=True,
    )
    require_each: v.ClassShares | None = option(None, _EACH_HELP)


@dataclass(frozen=True)
class DecisionRequirementOptions:
    """Requirements of decisions: of every one of these inputs, of a share of them, and others."""

    require: v.Number | None = option(
        None,
        "Require that at least this share of the population fails under at most kappa: 0.95; or "
        "all: that every one of these inputs does.",
        common=True,
    )
    require_these: v.Number | None = option(
        None, "Require it of at least this share of these inputs: 0.95."
    )
    require_each: v.ClassShares | None = option(None, _EACH_HELP)


@dataclass(frozen=True)
class Required:
    """What is required of a result, read: of the population, of each class, of these inputs."""

    least: float | None = None
    of_each_class: float | dict[str, float] | None = None
    of_these: float | None = None

    def check_classes(self, study: Study) -> None:
        """Refuse classes that the inputs do not have, before hours of work."""
        from surefoot.conclude.sampling_requirements import check_classes

        if self.of_each_class is not None:
            check_classes(study.spec, study.labels, self.of_each_class)


def required(options: RequirementOptions | DecisionRequirementOptions) -> Required:
    """What the options require. What is no share is refused."""
    from surefoot.conclude.sampling_requirements import EVERY, share_of_all

    least, each = options.require, options.require_each
    these = getattr(options, "require_these", None)
    every = least == EVERY and isinstance(options, DecisionRequirementOptions)
    of_population = None if least is None or every else v.share("require", least)
    of_each = None if each is None else v.class_shares("require_each", each)
    of_these = None if these is None else v.share("require_these", these)
    return Required(of_population, of_each, share_of_all(EVERY, of_these) if every else of_these)


_OWN_FUNCTION = re.compile(r"(?:.*\.py|@[A-Za-z_][\w.]*):[A-Za-z_][\w.]*", re.DOTALL)
"""mine.py:attack or @module:attack, as for perturbations."""


@dataclass(frozen=True)
class AttackOptions:
    """An attack in addition to the measurement."""

    attack: bool | object = option(
        False,
        "Also run an attack and print its failure rate (linf, l2 and l1; PyTorch models and ONNX "
        "files).",
    )
    attack_method: str | None = option(
        None,
        "Attack to run: margin, pgd (Madry et al.) or your own function, mine.py:attack (default: "
        "margin).",
    )
    attack_step: v.Number | None = option(
        None, "For pgd: length of a step, 2/255 (default: 2.5 radius/iterations)."
    )
    attack_starts: int | None = option(
        None, "Starts: of margin for each target class (default: 2), of pgd (default: 1).", least=1
    )
    attack_iterations: int | None = option(
        None, "Gradient steps per start (default: 30 of margin, 20 of pgd).", least=1
    )

    def method(self) -> AnyAttack | None:
        """The attack, or None without one."""
        from surefoot.region.attack_method import PGD, Attack, AttackFunction, as_attack

        given = {name: getattr(self, f"attack_{name}") for name in ("step", "starts", "iterations")}
        effort = {name: value for name, value in given.items() if value is not None}
        first = next(iter(effort), "")
        if isinstance(self.attack, str):
            raise InvalidArgument(
                f"attack must be True, False, an attack of sf.methods or a function, got "
                f"{self.attack!r}: write attack_method={self.attack!r}"
            )
        if not isinstance(self.attack, bool):
            if self.attack_method is not None or effort:
                one = first if self.attack_method is None else "method"
                raise refused(
                    f"attack_{one}",
                    effort.get(one),
                    "is for an attack by name: leave it out, or "
                    "give it to the attack that you pass",
                )
            return as_attack(self.attack)
        if not self.attack and self.attack_method is None:
            if effort:
                raise refused_value(
                    f"attack_{first}", effort[first], "needs attack=True (--attack): add it"
                )
            return None
        name = self.attack_method or "margin"
        if name == "margin" and "step" not in effort:
            return Attack(**effort)
        if name == "pgd":
            if "step" in effort:
                effort["step"] = v.as_number("attack_step", effort["step"])
            return PGD(**effort)
        if _OWN_FUNCTION.fullmatch(name):
            if effort:
                says = f"is for margin and pgd: let {name} have its own defaults"
                raise refused(f"attack_{first}", effort[first], says)
            from surefoot.models.python import import_object

            return AttackFunction(import_object(name.removeprefix("@")), name)
        if name == "margin":
            raise refused_value(
                "attack_step",
                effort["step"],
                "is for pgd, and margin chooses its steps itself: add attack_method "
                "(--attack-method pgd), or leave it out",
            )
        raise InvalidArgument(
            f"there is no attack {name!r}: choose margin or pgd, or name a function of your own, "
            "mine.py:attack or @module:attack"
        )
