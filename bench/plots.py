"""Pictures of what was measured, drawn from `results.json` beside its tables."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from bench.results import Outcome, Report

HERE = Path(__file__).parent
#: reports whose tasks name a number of rows
AGAINST_ROWS = ("svc_scaling",)


def draw(report: Report, folder: Path = HERE) -> None:
    """The seconds of every contender against the number of rows, on logarithmic axes; of cells, a map of ratios."""
    if report.cells:
        draw_cells(report, folder)
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


def draw_cells(report: Report, folder: Path) -> None:
    """A map for each task: how many times faster mercer is, by estimator and number of rows."""
    from matplotlib.colors import LogNorm
    from matplotlib.figure import Figure

    estimators = list(dict.fromkeys(one.estimator for one in report.cells))
    sizes = sorted({one.rows for one in report.cells})
    tasks = list(dict.fromkeys(one.task for one in report.cells))
    width, height = 2.4 + 0.55 * len(sizes) * len(tasks), 1.2 + 0.26 * len(estimators)
    figure = Figure(figsize=(width, height), layout="constrained")
    panels = figure.subplots(1, len(tasks), sharey=True, squeeze=False)[0]
    for axes, task in zip(panels, tasks, strict=True):
        ratios = np.full((len(estimators), len(sizes)), np.nan)
        for one in report.cells:
            if one.task == task and one.ratio is not None:
                place = estimators.index(one.estimator), sizes.index(one.rows)
                ratios[place] = one.ratio
                label = f"{one.ratio:.2g}" if one.ratio < 10 else f"{one.ratio:.0f}"
                color = "black" if 0.25 < one.ratio < 4 else "white"
                axes.text(*place[::-1], label, ha="center", va="center", fontsize=7, color=color)
        axes.imshow(ratios, cmap="RdBu", norm=LogNorm(0.1, 10), aspect="auto")
        axes.set_title(f"{task}: times scikit-learn", fontsize=9)
        axes.set_xticks(range(len(sizes)), labels=[f"{rows:,}" for rows in sizes], rotation=45, fontsize=7, ha="right")
    panels[0].set_yticks(range(len(estimators)), labels=estimators, fontsize=7)
    figure.savefig(folder / f"{report.workload}.svg", metadata={"Date": None})


def rows_of(outcome: Outcome) -> int:
    """The number of rows that a task names."""
    found = re.search(r"[\d,]+", outcome.task)
    if found is None:
        raise ValueError(f"no number of rows in the task {outcome.task!r}; name it like 'fit 2,000 rows'.")
    return int(found[0].replace(",", ""))
