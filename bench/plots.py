"""Pictures of what was measured, drawn from `results.json` beside its tables."""

from __future__ import annotations

import re
from pathlib import Path

from bench.results import Outcome, Report

HERE = Path(__file__).parent
#: reports whose tasks name a number of rows
AGAINST_ROWS = ("svc_scaling",)


def draw(report: Report, folder: Path = HERE) -> None:
    """The seconds of every contender against the number of rows, on logarithmic axes."""
    if report.workload not in AGAINST_ROWS:
        return
    from matplotlib.figure import Figure

    axes = (figure := Figure(figsize=(6, 4), layout="constrained")).add_subplot()
    rivals = list(dict.fromkeys(one.rival for one in report.outcomes))
    for rival in rivals:
        points = [(rows_of(one), one.rival_seconds) for one in report.outcomes if one.rival == rival]
        axes.loglog(*zip(*points, strict=True), "o-", label=rival)
    ours = [(rows_of(one), one.seconds) for one in report.outcomes if one.rival == rivals[0]]
    axes.loglog(*zip(*ours, strict=True), "ko-", label="mercer")
    sizes = [rows for rows, _ in ours]
    axes.set_xticks(sizes, labels=[f"{rows:,}" for rows in sizes])
    axes.set_xticks([], minor=True)
    axes.set(xlabel="rows", ylabel="seconds", title=report.workload)
    axes.grid(which="both", alpha=0.3)
    axes.legend()
    figure.savefig(folder / f"{report.workload}.svg", metadata={"Date": None})


def rows_of(outcome: Outcome) -> int:
    """The number of rows that a task names."""
    found = re.search(r"[\d,]+", outcome.task)
    if found is None:
        raise ValueError(f"no number of rows in the task {outcome.task!r}; name it like 'fit 2,000 rows'.")
    return int(found[0].replace(",", ""))
