"""The verdict of a comparison: which model to use, by which rule, and the sentences that explain it."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mercer.application.metrics import Metric
from mercer.base.diagnosis import Finding
from mercer.comparison._cross_validation import rank_entries
from mercer.comparison._entry import MAX_EXPORT_TERMS
from mercer.comparison._leaderboard import VERDICT_ROUNDING, compare_with_best
from mercer.comparison._paired import SIGNIFICANCE_LEVEL, Difference, holm, overlap_of
from mercer.comparison._score_tests import baseline_differences, score_difference
from mercer.comparison.next_steps import list_doubtful_columns
from mercer.comparison.pairs import uses_products
from mercer.decision.reliability import CALIBRATION_ADVICE
from mercer.report.wording import add_unit, format_plain, join_words

if TYPE_CHECKING:
    from mercer.comparison._entry import Entry
    from mercer.comparison.comparison import Comparison


#: share of the best score's gain over the baseline that a simpler model may give up
MAX_GAIN_SHARE = 0.1
#: share of that gain that a model may give up if its predictions are all possible and more than the share
#: `MAX_IMPOSSIBLE_SHARE` of the best model's are not
POSSIBLE_GAIN_SHARE = 1 / 3
#: share of the held-out rows with impossible predictions above which `POSSIBLE_GAIN_SHARE` applies
MAX_IMPOSSIBLE_SHARE = 0.01
#: p-value of a difference of one standard error
ONE_ERROR_P_VALUE = 0.32
#: share of that gain that is negligible even if the difference is significant
TRIFLING_GAIN_SHARE = 0.01
#: ratio of the bytes of a model to those of the smallest above which it is less simple
MAX_SIZE_RATIO = 10.0
#: models listed in a sentence
MAX_NAMED_MODELS = 3
#: the models that the simplest is chosen from, in sentences
WITHIN_CHANCE = "within chance of the best score"
RULE = (
    "The simplest model within chance of the best score is recommended: of the models that are not worse beyond "
    f"chance and give up at most {MAX_GAIN_SHARE:.0%} of the gain over the baseline or one standard error of the "
    f"difference, and of those that give up at most {TRIFLING_GAIN_SHARE:.0%} in any case, sums over columns, which "
    "are explained exactly, then those that can be exported, then those whose export has at most "
    f"{MAX_EXPORT_TERMS:,} terms, then those at most {MAX_SIZE_RATIO:g} times as large as the smallest; of these the "
    "best by score. A model with impossible predictions, such as amounts below 0, is recommended only where no model "
    f"without them is within chance and each gives up more than {MAX_GAIN_SHARE:.0%} of the gain; if they are more "
    f"than {MAX_IMPOSSIBLE_SHARE:.0%} of the held-out rows, more than a third of the gain; and of counts only where no "
    "model without them beats the baseline beyond chance."
)


@dataclass(frozen=True, eq=False)
class Verdict:
    """The recommended model of a comparison and the reasons, as returned by `Comparison.verdict`.

    Attributes
    ----------
    best : Entry or None
        The recommended model: the simplest within chance of the best score. None if no model beats the baseline beyond
        chance, or if scores are not finite.
    top : Entry or None
        The model with the best score, without baseline and reference.
    runner_up : Entry or None
        The model with the best score besides `best`.
    baseline : Entry or None
        A model that does not use the columns.
    reference : Entry or None
        Gradient-boosted trees on the same splits, for comparison; never recommended.
    within_chance : tuple of Entry
        The models among which the simplest was chosen, best score first.
    metric : Metric
        The measure of the scores.
    rule : str
        The rule of the choice.
    problems : tuple of Finding
        Problems that may invalidate the scores, severest first.
    sentences : tuple of str
        The verdict in plain words, most important first.
    """

    best: Entry | None
    top: Entry | None
    runner_up: Entry | None
    baseline: Entry | None
    reference: Entry | None
    within_chance: tuple[Entry, ...]
    metric: Metric
    rule: str
    problems: tuple[Finding, ...]
    sentences: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join((*map(str, self.problems), *self.sentences))

    def __repr__(self) -> str:
        """Return the names of the models, without the estimators."""
        roles = ("best", "runner_up", "baseline", "reference")
        names = (entry and entry.name for entry in (self.best, self.runner_up, self.baseline, self.reference))
        named = ", ".join(f"{role}={name!r}" for role, name in zip(roles, names, strict=True))
        return f"Verdict({named}, metric={self.metric.name!r}, problems={[problem.code for problem in self.problems]})"


def make_verdict(comparison: Comparison) -> Verdict:
    """Return the verdict: the simplest model within chance of the best score, if one beats the baseline."""
    problems = tuple(comparison.problems())
    baseline = comparison.baseline
    models = [entry for entry in comparison.done if entry.kind != "baseline"]
    metric = _first_measure(comparison, models)
    reference = comparison.reference
    shared: dict[str, Any] = {"baseline": baseline, "reference": reference, "metric": metric, "rule": RULE}
    if not models:
        sentence = _explain_no_models(comparison, baseline)
        return Verdict(None, None, None, within_chance=(), problems=problems, sentences=(sentence,), **shared)
    top = models[0]
    equal = find_within_chance(comparison, metric, models)
    tests = compare_with_best(comparison) if comparison.done[0] is top else {}
    gains = {} if baseline is None else baseline_differences(models, baseline, metric, overlap_of(comparison.splits))
    better = [entry for entry in models if _beats_baseline(comparison, entry, baseline, gains)]
    near: list[Entry] = []
    groups = [equal]
    if not hasattr(comparison.task, "labels"):
        near = drop_impossible(_find_near(comparison, metric, _margin(comparison, top)))
        possible = find_within_chance(comparison, metric, drop_impossible(better))
        groups = [drop_impossible(equal), near, *([possible] if comparison.task.name == "counts" else []), equal]
    within = next((group for group in groups if any(entry in better for entry in group)), equal)
    able = [entry for entry in within if entry in better]
    best = find_simplest(able) if able and math.isfinite(top.mean(metric.name)) else None
    deciding = _find_deciding_classifiers(comparison, models, baseline) if best is None else []
    if deciding:
        metric = shared["metric"] = comparison.metric("accuracy")
        within = able = deciding
        top, best = deciding[0], find_simplest(deciding)
    runner_up = next((entry for entry in models if entry is not best), None)
    if best is None:
        sentences = _no_recommendation(comparison, metric, top, baseline)
    else:
        sentences = [
            _recommend(comparison, metric, best, baseline),
            _explain_choice(
                comparison,
                metric,
                best,
                top,
                runner_up,
                able,
                tests,
                _describe_group(models, equal, within, tests),
                has_errors=any(problem.severity == "error" for problem in problems),
            )
            if best in equal or best is top or deciding
            else _explain_possible_choice(comparison, metric, best, top, is_near=best in near),
            *_describe_doubts(comparison, metric, best, baseline),
            *_describe_limits(comparison, metric, best),
        ]
    sentences = [*_warn_of_leaks(problems), *sentences]
    if reference is not None:
        sentences.append(_compare_with_reference(comparison, metric, top if best is None else best, reference))
    return Verdict(
        best,
        top,
        runner_up,
        within_chance=tuple(within),
        problems=problems,
        sentences=tuple(filter(None, sentences)),
        **shared,
    )


def _find_deciding_classifiers(comparison: Comparison, models: list[Entry], baseline: Entry | None) -> list[Entry]:
    """Return the best classifiers without probabilities, within chance, that are better than the baseline."""
    if baseline is None or not hasattr(comparison.task, "labels"):
        return []
    metric = comparison.metric("accuracy")
    plain = [entry for entry in models if not entry.probabilistic]
    differences = baseline_differences(plain, baseline, metric, overlap_of(comparison.splits))
    better = [
        entry
        for entry in plain
        if differences[entry.name].mean > 0 and differences[entry.name].adjusted < SIGNIFICANCE_LEVEL
    ]
    better.sort(key=lambda entry: -entry.mean(metric.name))
    return [entry for entry in better if not _difference(comparison, metric, better[0], entry).p < SIGNIFICANCE_LEVEL]


def find_within_chance(comparison: Comparison, metric: Metric, models: list[Entry]) -> list[Entry]:
    """Return those of the models, which are sorted by score, that may be as good as the first; it comes first.

    They are not worse beyond chance, lie within the interval of the best score, and give up at most the share
    `MAX_GAIN_SHARE` of its gain over the baseline, or one standard error: with few rows, a difference that is not
    significant is not enough to recommend a model. With many rows even negligible differences are significant, so that
    models that give up at most the share `TRIFLING_GAIN_SHARE` are included as well.
    """
    if not models:
        return []
    top, *others = models
    others = [entry for entry in others if not math.isnan(entry.mean(metric.name))]
    p_values = [_difference(comparison, metric, top, entry).p for entry in others]
    interval = comparison.interval(top.name, metric.name)
    gains = [metric.gain(entry.mean(metric.name)) for entry in others]
    least, same = (_least_gain(comparison, metric, top, share) for share in (MAX_GAIN_SHARE, TRIFLING_GAIN_SHARE))
    return [
        top,
        *(
            entry
            for entry, p, adjusted, gain in zip(others, p_values, holm(p_values), gains, strict=True)
            if (
                adjusted >= SIGNIFICANCE_LEVEL
                and interval.low <= entry.mean(metric.name) <= interval.high
                and (gain >= least or p >= ONE_ERROR_P_VALUE)
            )
            or gain >= same > -math.inf
        ),
    ]


def _margin(comparison: Comparison, top: Entry) -> float:
    """Return the share of the gain that a model with possible predictions may give up against the best."""
    rows = sum(len(test) for _, test in comparison.splits)
    return POSSIBLE_GAIN_SHARE if top.impossible > MAX_IMPOSSIBLE_SHARE * rows else MAX_GAIN_SHARE


def _find_near(comparison: Comparison, metric: Metric, margin: float) -> list[Entry]:
    """Return the best model and those that give up at most a share of its gain over the baseline.

    Significance is not required here, because the scores of a bad model may vary strongly.
    """
    top, *others = [entry for entry in comparison.done if entry.kind != "baseline"]
    least = _least_gain(comparison, metric, top, margin)
    return [top, *(entry for entry in others if metric.gain(entry.mean(metric.name)) >= least > -math.inf)]


def drop_impossible(entries: list[Entry]) -> list[Entry]:
    """Return the models without impossible predictions."""
    return [entry for entry in entries if not entry.impossible]


def find_simplest(entries: list[Entry]) -> Entry:
    """Return the simplest of models that are sorted by score, best first: see `RULE`."""
    kept = [entry for entry in entries if entry.additive] or entries
    kept = [entry for entry in kept if entry.obstacle is None] or kept
    kept = [entry for entry in kept if entry.long_export is None] or kept
    sizes = [entry.size_bytes for entry in kept if not math.isnan(entry.size_bytes)]
    return next((entry for entry in kept if sizes and entry.size_bytes <= MAX_SIZE_RATIO * min(sizes)), kept[0])


def _first_measure(comparison: Comparison, models: list[Entry]) -> Metric:
    """Return the first measure that the best model has: a classifier without probabilities has no log loss."""
    having = (metric for metric in comparison.task.metrics if models and not math.isnan(models[0].mean(metric.name)))
    return next(having, comparison.task.metric)


def _difference(comparison: Comparison, metric: Metric, one: Entry, other: Entry) -> Difference:
    """Return the difference of two models by a measure."""
    return score_difference(one, other, metric, overlap_of(comparison.splits))


def _least_gain(comparison: Comparison, metric: Metric, top: Entry, margin: float) -> float:
    """Return the gain of a model that gives up the share `margin` of the best model's gain over the baseline."""
    if (baseline := comparison.baseline) is None:
        return -math.inf
    gain, least = (float(metric.gain(entry.mean(metric.name))) for entry in (top, baseline))
    return gain - margin * (gain - least) if math.isfinite(gain - least) and gain > least else -math.inf


def _beats_baseline(
    comparison: Comparison, entry: Entry, baseline: Entry | None, differences: Mapping[str, Difference]
) -> bool:
    """Return whether a model beats the baseline beyond chance; with a single split, whether it beats it."""
    if baseline is None or decides_better(comparison, entry, baseline):
        return True
    difference = differences[entry.name]
    return difference.mean > 0 and not difference.adjusted >= SIGNIFICANCE_LEVEL


def decides_better(comparison: Comparison, entry: Entry, baseline: Entry) -> bool:
    """Return whether a model is ranked before a baseline of better score, because its accuracy is higher."""
    metric, order = comparison.task.metric, comparison.done
    if entry not in order:
        return False
    if baseline not in order:
        order, _ = rank_entries((*order, baseline), comparison.task, overlap_of(comparison.splits))
    return order.index(entry) < order.index(baseline) and bool(
        metric.gain(baseline.mean(metric.name)) > metric.gain(entry.mean(metric.name))
    )


def _explain_no_models(comparison: Comparison, baseline: Entry | None) -> str:
    if not comparison.done:
        return "No model could be fitted; the notes say why."
    if late := comparison.unfinished:
        were = "were" if len(late) > 1 else "was"
        why = f"{join_models(late)} {were} not finished. Give more time, or fewer rows, for a comparison"
    elif failed := [entry.name for entry in comparison.entries if entry.failed]:
        why = f"{join_models(failed)} could not be fitted; the notes say why"
    else:
        return f"Only the baseline was compared ({comparison.done[0].name})."
    return f"Only guessing without the columns ({comparison.done[0].name}) was scored: {why}."


def _warn_of_leaks(problems: Sequence[Finding]) -> list[str]:
    """Return a warning about columns that leak the target, with the command that leaves them out."""
    if not (columns := list_doubtful_columns(problems)):
        return []
    again = f"with {' '.join(f'--drop {shlex.quote(name)}' for name in columns)}"
    if len(columns) > MAX_NAMED_MODELS:
        again = "without them (--drop COLUMN for each)"
    which = join_words([f"{name!r}" for name in columns], MAX_NAMED_MODELS)
    known = f"{which} {'are' if len(columns) > 1 else 'is'} known when predictions are made"
    return [f"The scores below count only if {known}; if not, compare again {again}."]


def _recommend(comparison: Comparison, metric: Metric, best: Entry, baseline: Entry | None) -> str:
    interval = comparison.interval(best.name, metric.name)
    score = format_score(comparison, metric, interval.mean)
    sentence = f"Use {best.name}: {metric.heading} {score} on rows that it was not fitted to"
    if not math.isnan(interval.low):
        low, high = (format_score(comparison, metric, end) for end in (interval.low, interval.high))
        sentence += f" (95% interval {low} to {high})"
    others = [each for each in comparison.task.metrics if each.shown and each is not metric]
    measures = [
        f"{each.heading} {format_score(comparison, each, best.mean(each.name), each.form)}"
        for each in others[:2]
        if not math.isnan(best.mean(each.name))
    ]
    sentence += "".join(f", {each}" for each in measures)
    if baseline is not None and math.isfinite(baseline.mean(metric.name)):
        guess = format_score(comparison, metric, baseline.mean(metric.name))
        sentence += f"; the baseline, {baseline.name}, has {metric.heading} {guess}"
    return f"{sentence}."


def _describe_group(
    models: Sequence[Entry], equal: Sequence[Entry], within: Sequence[Entry], tests: Mapping[str, Difference]
) -> str:
    """Return the group of models that the simplest was chosen from, in words that agree with the table of differences.

    `equal` are the models within chance and near the best score, `within` those of them with possible predictions. The
    table has models that are not worse beyond chance, but too far behind.
    """
    behind = any(
        entry not in equal and entry.name in tests and tests[entry.name].adjusted >= SIGNIFICANCE_LEVEL
        for entry in models
    )
    near = f"{WITHIN_CHANCE} and near it" if behind else WITHIN_CHANCE
    return f"{near} whose predictions are all possible" if len(within) < len(equal) else near


def _is_beyond_chance(difference: Difference | None) -> bool:
    """Return whether the table of differences calls a model worse than the best beyond chance."""
    return difference is not None and (
        difference.mean == math.inf if math.isnan(difference.adjusted) else difference.adjusted < SIGNIFICANCE_LEVEL
    )


def _explain_choice(
    comparison: Comparison,
    metric: Metric,
    best: Entry,
    top: Entry,
    runner_up: Entry | None,
    able: list[Entry],
    tests: Mapping[str, Difference],
    group: str,
    *,
    has_errors: bool,
) -> str:
    """Return why a model is recommended instead of, or as, the one with the best score.

    `tests` are the differences from the best score, and `group` describes the models within chance. Of models that are
    worse beyond chance but are in this group, it says that they give up little. If there are errors, such as columns
    that reveal the target, models that are about as good are not named.
    """
    others = [entry for entry in able if entry is not best]
    little = f"at most {TRIFLING_GAIN_SHARE:.0%} of the gain over the baseline"
    if best is not top:
        figures = format_apart(top.mean(metric.name), best.mean(metric.name), unit_of(comparison, metric))
        scores = f"({metric.heading} {figures})"
        if _is_beyond_chance(tests.get(best.name)) and top in able:
            return (
                f"{top.name} has the best score {scores}, beyond chance, but {best.name} gives up {little} and is "
                f"simpler: {_merits(best, top)}."
            )
        level = [entry for entry in able if not _is_beyond_chance(tests.get(entry.name))]
        which = f"It is the simplest of the {len(level)} models" if len(level) > 1 else "It is the only model"
        if top not in able and not top.impossible:
            return (
                f"{which} {group} that beats the baseline beyond chance; {top.name}, which has the best score "
                f"{scores}, does not."
            )
        if top.impossible and not best.impossible:
            return f"{which} {group}. {top.name} has the best score {scores}, but {_count_impossible(top)}."
        if group != WITHIN_CHANCE:
            return f"{which} {group}: {_merits(best, top)}. {top.name} has the best score {scores}."
        return f"{which} {group}, which {top.name} has {scores}: {_merits(best, top)}."
    if runner_up is None or (others and has_errors):
        return ""
    if others:
        worse = [entry.name for entry in others if _is_beyond_chance(tests.get(entry.name))]
        alike = [entry.name for entry in others if entry.name not in worse]
        parts = []
        if alike:
            are = "are" if len(alike) > 1 else "is"
            parts.append(f"{join_models(alike)} may be about as good, and {are} not simpler")
        if worse:
            are, give = ("are", "give") if len(worse) > 1 else ("is", "gives")
            parts.append(f"{join_models(worse)} {are} worse beyond chance, but {give} up {little}")
        return f"It has the best score; {'; '.join(parts)}."
    score = runner_up.mean(metric.name)
    if math.isnan(score):
        return f"It has the best score; the runner-up, {runner_up.name}, has no {metric.heading}."
    difference = _difference(comparison, metric, best, runner_up)
    beyond = difference.mean == math.inf or difference.p < SIGNIFICANCE_LEVEL
    return (
        f"It has the best score; the runner-up, {runner_up.name}, has {metric.heading} "
        f"{format_score(comparison, metric, score)}{', worse beyond chance' if beyond else ''}."
    )


def _explain_possible_choice(comparison: Comparison, metric: Metric, best: Entry, top: Entry, *, is_near: bool) -> str:
    """Return why a model that is not within chance of the best score is recommended."""
    figures = format_apart(top.mean(metric.name), best.mean(metric.name), unit_of(comparison, metric))
    which = (
        "of the models near it this is the simplest, and all of its predictions are possible"
        if is_near
        else "this is the simplest of the models within chance of the best score among those whose predictions are all "
        "possible"
    )
    return f"{top.name} has the best score ({metric.heading} {figures}), but {_count_impossible(top)}; {which}."


def _count_impossible(entry: Entry) -> str:
    return f"its prediction is impossible for {entry.impossible:,} of the held-out rows"


def _merits(best: Entry, top: Entry) -> str:
    """Return in which respects a model is simpler than the one with the best score."""
    merits = []
    if best.additive and not top.additive:
        merits.append("its predictions are explained exactly")
    if best.obstacle is None and top.obstacle is not None:
        merits.append("it can be exported")
    elif best.long_export is None and top.long_export is not None:
        merits.append("its export is short")
    if best.size_bytes * 2 < top.size_bytes:
        merits.append(f"it is {top.size_bytes / best.size_bytes:.0f} times smaller")
    return join_words(merits) or "it is smaller"


def _describe_doubts(comparison: Comparison, metric: Metric, best: Entry, baseline: Entry | None) -> list[str]:
    if baseline is None:
        return []
    if decides_better(comparison, best, baseline):
        sentence = (
            f"It is right more often than guessing ({baseline.name}) beyond chance, but guessing has the better "
            f"{comparison.task.metric.heading}: use its decisions, and calibrate its probabilities "
            f"({CALIBRATION_ADVICE})."
        )
        return [sentence]
    difference = _difference(comparison, metric, best, baseline)
    if math.isfinite(difference.mean) and math.isnan(difference.p):
        return ["A single split cannot show whether it beats the baseline beyond chance."]
    return []


def _describe_limits(comparison: Comparison, metric: Metric, best: Entry) -> list[str]:
    """Return the limitations of the recommended model: convergence, explanations, exports, impossible predictions."""
    limits = []
    if not best.converged:
        limits.append("It stopped before its optimum in some fit; the notes say how to allow more steps.")
    if not best.additive:
        how = "have terms for products of columns" if uses_products(best.model) else "are estimates"
        limits.append(f"It is not a sum over columns, so that explanations of its predictions {how}.")
    if best.obstacle is not None:
        limits.append(best.obstacle)
    elif best.long_export is not None:
        limits.append(best.long_export)
    if best.impossible and not best.probabilistic:
        other = next((entry for entry in drop_impossible(list(comparison.done)) if entry.kind != "baseline"), None)
        why = (
            "the notes say why"
            if other is None
            else f"{other.name}, the best model without such predictions, has {metric.heading} "
            f"{format_score(comparison, metric, other.mean(metric.name))}"
        )
        limits.append(f"{_count_impossible(best).capitalize()}; {why}.")
    return limits


def _no_recommendation(comparison: Comparison, metric: Metric, top: Entry, baseline: Entry | None) -> list[str]:
    score = top.mean(metric.name)
    if not math.isfinite(score):
        sentence = (
            f"No model is recommended: no {metric.heading} is finite. The notes say which rows and classes are the "
            "cause; leave out rare classes, or try another task."
        )
        return [sentence]
    assert baseline is not None  # without one, any model with a finite score is recommended
    late = comparison.unfinished
    unfinished = f" {join_models(late)} {'were' if len(late) > 1 else 'was'} not finished." if late else ""
    guess = format_score(comparison, metric, baseline.mean(metric.name))
    sentence = (
        f"No model is recommended: none beats guessing without the columns ({baseline.name}, {metric.heading} {guess}) "
        f"beyond chance. The best by score is {top.name} ({format_score(comparison, metric, score)}).{unfinished}"
    )
    reference = comparison.reference
    if late:
        remedy = "Give more time (--time-limit), or fewer rows."
    elif (
        reference is not None
        and not reference.failed
        and _beats_baseline(
            comparison,
            reference,
            baseline,
            baseline_differences([reference], baseline, metric, overlap_of(comparison.splits)),
        )
    ):
        remedy = (
            "The reference does beat it, so the columns are related to the target: transformed columns, or products of "
            "them, may help."
        )
    elif comparison.settings.get("splits") == "forward in time":
        remedy = "Add columns that are related to the target, such as its values in earlier rows, or rows."
    else:
        remedy = "Add columns that are related to the target, or rows; repeats (--repeats 5) show smaller differences."
    return [sentence, remedy]


def _compare_with_reference(comparison: Comparison, metric: Metric, entry: Entry, reference: Entry) -> str:
    """Return a sentence that compares a model with the reference."""
    score = reference.mean(metric.name)
    if reference.failed or math.isnan(score):
        return ""
    difference = _difference(comparison, metric, entry, reference)
    which = f"The reference, {reference.name}, has {metric.heading} {format_score(comparison, metric, score)}"
    if not math.isfinite(difference.mean):
        return f"{which}."
    word = "saves" if difference.mean > 0 else "costs"
    low, high, mean = (
        format_score(comparison, metric, each)
        for each in (*sorted((abs(difference.low), abs(difference.high))), abs(difference.mean))
    )
    # a test of logarithms may be significant although the interval of the difference contains 0
    interval = f" (95% interval {low} to {high})" if difference.low * difference.high > 0 else ""
    if not difference.p < SIGNIFICANCE_LEVEL:
        return f"{which}: the difference is within chance."
    return f"{which}: {entry.name} {word} {mean}{interval}, beyond chance."


def join_models(models: Sequence[str]) -> str:
    """Return names of models as a list in a sentence."""
    return join_words(list(models), MAX_NAMED_MODELS)


def format_score(comparison: Comparison, metric: Metric, value: float, form: str = "#.3g") -> str:
    """Return a score as text with its unit; a score negligible compared with the baseline's is written as 0."""
    guess = math.nan if comparison.baseline is None else comparison.baseline.mean(metric.name)
    if value == 0 or abs(value) < VERDICT_ROUNDING * abs(guess):
        return add_unit("0", unit_of(comparison, metric))
    return add_unit(format_plain(value, form), unit_of(comparison, metric))


def unit_of(comparison: Comparison, metric: Metric) -> str:
    """Return the unit of a measure: that of the target, or ""."""
    return comparison.unit if metric.in_units else ""


def format_figure(value: float, digits: int = 3) -> str:
    """Return a score with the given digits, without an exponent for usual sizes."""
    return format_plain(value, f"#.{digits}g").rstrip(".")


def format_apart(first: float, second: float, unit: str = "") -> str:
    """Return two numbers with the fewest digits that distinguish them, up to six."""
    for digits in (3, 4, 5, 6):
        one, other = (add_unit(format_figure(value, digits), unit) for value in (first, second))
        if one != other:
            return f"{one} against {other}"
    return f"{add_unit(format_figure(first), unit)} each"


def describe_details(comparison: Comparison) -> list[str]:
    """Return sentences on the calibration of the recommended model, on generative models, and on unfinished models."""
    best = comparison.verdict().best
    if best is None:
        return []
    sentences = [
        "" if best.calibration is None else best.calibration.sentence(),
        *_describe_best_pair(comparison, comparison.done[0], compare_with_best(comparison)),
        _note_unfinished(comparison),
    ]
    return [sentence for sentence in sentences if sentence]


def _note_unfinished(comparison: Comparison) -> str:
    """Return a sentence on unfinished models."""
    if not comparison.unfinished:
        return ""
    were = "were" if len(comparison.unfinished) > 1 else "was"
    return f"{join_models(comparison.unfinished)} {were} not finished, and may be better."


def _has_measure(comparison: Comparison, entry: Entry) -> bool:
    """Return whether an entry has the measure that models are ranked by."""
    return not math.isnan(entry.mean(comparison.task.metric.name))


def _describe_best_pair(comparison: Comparison, best: Entry, tests: dict[str, Difference]) -> list[str]:
    """Return a sentence that compares the best generative model with its discriminative partner."""
    for entry in comparison.done:
        partner = next((each for each in comparison.done if each.name == entry.partner), None)
        if entry.kind != "generative" or partner is None or not _has_measure(comparison, partner):
            continue
        with_best = entry if partner is best else partner if entry is best else None
        # the p-value of the table of differences, if the pair is in it
        p = None if with_best is None else tests[with_best.name].adjusted
        return [_describe_pair(comparison, entry, partner, p)]
    return []


def _describe_pair(comparison: Comparison, generative: Entry, partner: Entry, p: float | None) -> str:
    """Return a sentence that compares the two models of a pair."""
    metric, rows = comparison.task.metric, len(comparison.splits[0][0])
    ahead = metric.gain(generative.mean(metric.name)) > metric.gain(partner.mean(metric.name))
    first, second = (generative, partner) if ahead else (partner, generative)
    difference = score_difference(first, second, metric, overlap_of(comparison.splits))
    if math.isnan(difference.mean):  # both are infinite somewhere
        return ""
    p = difference.p if p is None else p
    scores = format_apart(first.mean(metric.name), second.mean(metric.name), unit_of(comparison, metric))
    figures = f"{metric.heading} {scores}"
    if ahead:
        why = ": a model of the columns needs fewer rows, and its assumptions do little harm here"
    elif rows < comparison.table.n_columns:  # too few rows for this reason
        why = ""
    else:
        why = ": there are enough rows to learn the boundary itself, and it assumes less about the columns"
    pair = f"Of the pair {generative.name} (generative) and {partner.name} (discriminative),"
    if difference.mean == 0:
        return f"{pair} neither is ahead on {rows:,} training rows ({figures})."
    if math.isfinite(difference.mean) and not p < SIGNIFICANCE_LEVEL:  # a single split shows nothing
        return (
            f"{pair} {first.name} is ahead on {rows:,} training rows ({figures}), but not beyond chance: more rows, or "
            "more repeats, would show."
        )
    return f"{pair} {first.name} is ahead on {rows:,} training rows ({figures}){why}."
