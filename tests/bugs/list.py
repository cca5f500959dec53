"""The bugs: each an edit within one function, and the tests that lie nearest to it."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path("src/surefoot")


@dataclass(frozen=True)
class Bug:
    """In `function`, a qualified name within any module, `old` is replaced by `new`.

    Several functions may have that name: it is the one that holds `old` exactly once. `tests` are
    files below tests/, apart by spaces.
    """

    name: str
    room: str
    function: str
    old: str
    new: str
    tests: str

    @property
    def nearest(self) -> tuple[str, ...]:
        return tuple(f"tests/{file}" for file in self.tests.split())

    def apply(self, root: Path) -> tuple[Path, str]:
        """The file that is edited, and its text with the bug; LookupError if it is not one edit."""
        found = []
        for path in sorted((root / SOURCE).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            if self.old in text:
                lines = text.splitlines(keepends=True)
                for first, last in _places(ast.parse(text), self.function):
                    before, own = "".join(lines[:first]), "".join(lines[first:last])
                    if own.count(self.old) == 1:
                        rest = "".join(lines[last:])
                        found.append((path, before + own.replace(self.old, self.new) + rest))
        if len(found) != 1:
            raise LookupError(
                f"{self.name}: {len(found)} functions {self.function} hold {self.old!r} exactly "
                "once: follow the change of the source in tests/bugs/list.py"
            )
        ast.parse(found[0][1])
        return found[0]


def _places(tree: ast.AST, name: str, within: str = "") -> Iterator[tuple[int, int]]:
    """First and last line of each function or class of this qualified name."""
    for node in ast.iter_child_nodes(tree):
        own = within
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            own = f"{within}.{node.name}".lstrip(".")
            if own == name:
                yield node.lineno - 1, node.end_lineno or node.lineno
        if name.startswith(own):
            yield from _places(node, name, own)


# fmt: off
BUGS = (
    Bug("kappa-two-sided", "statistics", "KappaTest.steps",
        "target = math.log(1 / self.error)", "target = math.log(1 / (2 * self.error))",
        "promises/test_kappa.py promises/test_edges.py"),
    Bug("looks-share-no-error", "statistics", "ExactBinomial.steps",
        "share = self.error / len(sizes)", "share = self.error",
        "promises/test_binomial_test.py promises/test_edges.py"),
    Bug("clopper-pearson-one-sided", "statistics", "clopper_pearson",
        "betaincinv(k, n - k + 1, error / 2)", "betaincinv(k, n - k + 1, error)",
        "unit/test_bounds.py"),
    Bug("holm-off-by-one", "statistics", "holm",
        "(len(p_values) - rank) * p_values[i]", "(len(p_values) - rank - 1) * p_values[i]",
        "promises/test_contrasts.py"),
    Bug("tail-keeps-a-tie", "statistics", "NormalTail._counted",
        "value < severities.limit", "value <= severities.limit",
        "unit/test_tail_fits.py promises/test_tail.py promises/test_edges.py"),
    Bug("rising-crossing", "curves", "_crossings",
        "else span.high - length", "else span.low + length",
        "unit/test_curve_conclude.py unit/test_curve_levels.py"),
    Bug("looks-of-a-level", "curves", "Sampling.bounds",
        "self.error / levels / len(self.looks)", "self.error / levels",
        "unit/test_curve_levels.py promises/test_curves_population.py"),
    Bug("stale-bounds-of-a-level", "curves", "KnownCurve._bounds_of",
        "key = place, level.first", "key = place, 0",
        "unit/test_curve_levels.py"),
    Bug("nodes-spent-twice", "region", "CriticalLevel.efforts",
        "counts[-1] = nodes - sum(counts[:-1])", "counts[-1] = nodes",
        "unit/test_quantile_search.py unit/test_radii_study.py unit/test_radii_summaries.py"),
    Bug("bracket-without-assumption", "region", "bracket_of",
        "Guarantee(Footing.CONDITIONAL, 0.0, (assumption,))", "Guarantee(Footing.SOUND, 0.0)",
        "unit/test_quantile_search.py unit/test_radii_study.py unit/test_radii_summaries.py"),
    Bug("rank-counted-from-zero", "population", "SortedEnds.at",
        "self.lows[min(rank, n) - 1]", "self.lows[min(rank, n - 1)]",
        "unit/test_quantile.py unit/test_quantile_brackets.py"),
    Bug("share-as-printed", "population", "RobustShare.conclude",
        "(declared.low - a) / (1 - a)", "(declared.low - a) / (1 + a)",
        "promises/test_share.py"),
    Bug("networks-not-counted", "population", "of_each",
        "shares(error, number)", "shares(error, len(groups))",
        "unit/test_quantile.py promises/test_quantile.py"),
    Bug("worse-than-one-of-many", "population", "_holds",
        "share = shares(error, len(others))", "share = error",
        "promises/test_comparison.py unit/test_comparing.py"),
    Bug("rounds-share-a-seed", "population", "SetMean._taking_part",
        "np.random.default_rng([self.seed, number])", "np.random.default_rng([self.seed])",
        "unit/test_precision.py"),
    Bug("class-claim-without-assumption", "study", "_about_population",
        "sampled = assumptions_within(facts.sampling)", "sampled = ()",
        "unit/test_result.py unit/test_sentences.py unit/test_groups.py unit/test_study.py"),
    Bug("requirements-share-no-error", "study", "_of_samples",
        "error=shares(over.error, required.number)", "error=over.error",
        "unit/test_result.py unit/test_class_requirements.py unit/test_comparing.py"),
    Bug("one-contradiction-ignored", "study", "_of_radii",
        "any(b.contradicted for b in local)", "all(b.contradicted for b in local)",
        "unit/test_radii_summaries.py unit/test_quantile_search.py"),
    Bug("radii-share-no-error", "study", "_population",
        "shares(promise.error, radii)", "promise.error",
        "unit/test_radii_summaries.py"),
    Bug("signature-of-64-bytes", "evidence_file", "pre_authentication_encoding",
        "len(payload), payload)", "len(payload), payload[:64])",
        "unit/test_evidence_file.py"),
    Bug("bytes-after-a-table", "evidence_file", "Unpacking.inflate",
        " or unpacker.unused_data", "",
        "unit/test_evidence_hostile.py unit/test_evidence_file.py"),
    Bug("journal-row-without-trials", "evidence_file", "journal_entries",
        "0 <= start < stop <= MOST_TRIALS", "0 <= start <= stop <= MOST_TRIALS",
        "unit/test_evidence_file.py unit/test_evidence_hostile.py"),
    Bug("touching-trials-refused", "store", "Coverage.add",
        "stop > edges[at]", "stop >= edges[at]",
        "unit/test_store_check.py unit/test_store.py"),
    Bug("seal-without-journal", "store", "seal_of",
        "{rows} {heads}", "{rows}",
        "unit/test_store.py unit/test_store_check.py"),
    Bug("one-row-too-many", "store", "SqlJournal._refuse_more",
        "number >= run.rows and", "number > run.rows and",
        "unit/test_store.py unit/test_store_check.py"),
    Bug("perturbations-share-numbers", "engine", "block_key",
        r"{seed}\0{kind}\0{block}", r"{seed}\0{block}",
        "unit/test_perturbations.py unit/test_notation.py unit/test_engine.py"),
    Bug("batch-cut-beside-a-block", "engine", "take_batch",
        "(task.start + room) // block * block", "task.start + room // block * block",
        "unit/test_engine.py unit/test_batch_sizes.py"),
    Bug("last-entry-run-again", "engine", "cover",
        "entry.stop > stop", "entry.stop >= stop",
        "unit/test_engine.py unit/test_engine_asks.py"),
    Bug("foreign-journal-accepted", "engine", "_start",
        "if journalled:", "if journalled and not runs:",
        "unit/test_engine.py unit/test_engine_asks.py"),
    Bug("one-loss-fewer", "executors", "Dispatch._take_back",
        "batch.losses > MOST_LOSSES", "batch.losses >= MOST_LOSSES",
        "unit/test_executors.py"),
    Bug("threads-of-the-user-ignored", "system", "start_child",
        "env={**variables, **os.environ}", "env={**os.environ, **variables}",
        "unit/test_executors.py"),
    Bug("noise-not-clipped", "perturb", "_Stretched.apply",
        "return clip_in_place(y, bounds)", "return y",
        "unit/test_perturbations.py unit/test_perturb_images.py unit/test_perturb_values.py"),
    Bug("patch-lies-on-its-side", "perturb", "_patch_size",
        "if height <= width else", "if height >= width else",
        "unit/test_perturb_pixels.py unit/test_perturb_images.py unit/test_perturbations.py"),
    Bug("uniform-noise-one-sided", "perturb", "_move_numbers",
        "uniform * 2 - 1", "uniform",
        "unit/test_perturb_values.py"),
    Bug("one-rank-too-far", "properties", "_rivals",
        "[:, -rank]", "[:, -rank - 1]",
        "unit/test_properties_of_outputs.py"),
    Bug("class-and-score-swapped", "properties", "read_boxes",
        "rows[:, 5], scores[:, 4]", "rows[:, 4], scores[:, 5]",
        "unit/test_properties_of_outputs.py"),
    Bug("gradient-times-std", "models", "Normalise.gradient_before",
        "gradient / _spread(", "gradient * _spread(",
        "unit/test_models_onnx_device.py"),
    Bug("logit-of-the-first-class", "models", "both_classes",
        "else xp.zeros_like(rows)", "else -rows",
        "unit/test_models_onnx.py unit/test_models_python.py"),
    Bug("parts-by-case", "models", "read_parts",
        "{n.lower() for n in names}", "set(names)",
        "unit/test_models_trust.py"),
    Bug("one-fewer-examined", "inputs", "_correct",
        "start + offset + 1", "start + offset",
        "unit/test_inputs_select.py"),
    Bug("bracket-of-a-pattern", "inputs", "_matches",
        "min(1, expression.groups)", "0",
        "unit/test_groups.py"),
    Bug("box-rounded-inwards", "verify", "box_property",
        "np.nextafter(flat - radius, -np.inf)", "np.nextafter(flat - radius, np.inf)",
        "unit/test_verify_external_verifier.py"),
    Bug("rounding-loss-gained", "verify", "bound_layers",
        "lower - lost, upper + lost", "lower + lost, upper - lost",
        "unit/test_verify_branch_and_bound.py unit/test_verify_bracket_search.py"),
    Bug("chord-of-a-leaky-neuron", "verify", "activation_lines",
        "above *= 1 - slope", "above *= 1.0",
        "unit/test_verify_branch_and_bound.py unit/test_verify_bracket_search.py"),
    Bug("beta-forgotten", "graph", "_gemm",
        "product.shifted(beta * wide,", "product.shifted(wide,",
        "unit/test_graph_read_network.py"),
    Bug("softmax-over-another-axis", "graph", "_softmax",
        "axis, shape = softmax_axis(op.call)", "axis, shape = 1, softmax_axis(op.call)[1]",
        "unit/test_graph_gradient.py"),
    Bug("interval-rounded-inwards", "report", "percent_range",
        "_hundredths(interval.high, math.ceil)", "_hundredths(interval.high, math.floor)",
        "unit/test_sentences.py unit/test_view_claims.py"),
    Bug("page-not-escaped", "report", "template_environment",
        "autoescape=True", "autoescape=False",
        "unit/test_page_html.py unit/test_hostile_names.py"),
    Bug("form-without-origin", "serve", "_is_own_origin",
        "bool(origin) and origin ==", "not origin or origin ==",
        "unit/test_serve_guard.py unit/test_serve.py"),
    Bug("one-empty-page", "serve", "PageNumbers.of",
        "-(-rows // each)", "rows // each + 1",
        "unit/test_serve.py unit/test_serve_limits.py"),
    Bug("error-shared-by-studies", "gate", "with_shares",
        "number = sum(_shares_of(s) for s in studies)", "number = len(studies)",
        "unit/test_gate.py"),
    Bug("required-of-the-earlier-model", "gate", "_of_earlier_model",
        " or is_requirement(n)", "",
        "unit/test_gate_run.py unit/test_gate.py"),
    Bug("error-not-rounded", "commands", "error_from",
        "round(1 - given, _ERROR_DIGITS)", "1 - given",
        "unit/test_commands.py unit/test_gate.py"),
    Bug("link-to-the-same-file", "commands", "check_distinct",
        "_identity(given) == target", "given == str(path)",
        "unit/test_whole_file.py unit/test_gate_run.py"),
    Bug("error-exits-with-1", "cli", "_fail",
        "return ERROR", "return 1",
        "system/test_exits.py system/test_first_steps.py"),
    Bug("result-exits-with-0", "cli", "present",
        "return result.exit_code", "return 0",
        "system/test_first_steps.py system/test_cli.py"),
    Bug("choice-of-the-test-ignored", "testing", "raise_undecided",
        "choice = choice or policy.choice", "choice = policy.choice",
        "unit/test_assert_robust.py"),
    Bug("a-tie-is-kept", "root", "Counts.of",
        "severities < limit", "severities <= limit",
        "unit/test_properties_of_outputs.py unit/test_engine.py"),
    Bug("farther-counterexample", "root", "Proof.__add__",
        "self.far <= other.far", "self.far >= other.far",
        "unit/test_radii_study.py unit/test_quantile_search.py"),
    Bug("kilobytes-of-1000", "root", "_available",
        "* 1024", "* 1000",
        "unit/test_batch_sizes.py"),
)
# fmt: on
