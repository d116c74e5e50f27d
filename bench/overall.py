"""All workloads together: how many times faster, as geometric means and at least, and how many targets were met."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import geometric_mean
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench.results import Outcome, Report

Choice = Callable[["Outcome"], bool]


def is_scikit_learn(one: Outcome) -> bool:
    """scikit-learn itself, by whichever of its solvers."""
    return one.rival.startswith("scikit-learn") and "intelex" not in one.rival


def hardest(outcomes: Iterable[Outcome], among: Choice = lambda _: True) -> list[Outcome]:
    """Of every task the rival that was fastest, of those whose answer was the same."""
    tasks: dict[str, Outcome] = {}
    for one in outcomes:
        if one.ratio is not None and among(one):
            best = tasks.get(one.task)
            tasks[one.task] = one if best is None or one.rival_seconds < best.rival_seconds else best
    return list(tasks.values())


def ratios(reports: Sequence[Report], among: Choice) -> dict[str, float]:
    """For every workload the geometric mean over its tasks, so that one of many tasks has no more say."""
    found = {report.workload: hardest(report.outcomes, among) for report in reports}
    return {name: geometric_mean([one.ratio or 0 for one in tasks]) for name, tasks in found.items() if tasks}


def least(reports: Sequence[Report], among: Choice) -> tuple[float, str]:
    """The smallest ratio of any task, to its fastest rival, and its name: a mean over tasks would hide it."""
    tasks = [(report.workload, one) for report in reports for one in hardest(report.outcomes, among)]
    return min((one.ratio or 0, f"{workload}: {one.task}") for workload, one in tasks)


def lines(reports: Sequence[Report]) -> list[tuple[str, ...]]:
    """A line for scikit-learn, and one for the fastest rival of every task."""
    result: list[tuple[str, ...]] = []
    for name, among in (("scikit-learn, its fastest solver", is_scikit_learn), ("the fastest rival", lambda _: True)):
        by_workload = ratios(reports, among)
        if by_workload:
            mean = geometric_mean(by_workload.values())
            smallest, where = least(reports, among)
            result.append((name, str(len(by_workload)), f"{mean:.1f}×", f"{smallest:.1f}× ({where})"))
    return result


def sentence(reports: Sequence[Report]) -> str:
    """How many of the targets, and of the limits, were met, and the names of the others."""
    return " ".join(filter(None, [_races(reports), _limits(reports)]))


def _races(reports: Sequence[Report]) -> str:
    set_out = [(report.workload, one) for report in reports for one in report.outcomes if one.reach is not None]
    missed = [f"{name}: {one.task} ({one.rival})" for name, one in set_out if (one.ratio or 0) < (one.reach or 0)]
    met = f"{len(set_out) - len(missed)} of {len(set_out)} targets were met"
    return f"{met}; missed: {', '.join(missed)}." if missed else f"{met}."


def _limits(reports: Sequence[Report]) -> str:
    limited = [(report.workload, one) for report in reports for one in report.timings if one.limit is not None]
    if not limited:
        return ""
    missed = [f"{name}: {one.what}" for name, one in limited if one.seconds > (one.limit or 0)]
    met = f"{len(limited) - len(missed)} of {len(limited)} limits were met"
    return f"{met}; exceeded: {', '.join(missed)}." if missed else f"{met}."
