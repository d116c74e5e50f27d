"""What was measured, kept in `results.json`, and the tables made of it: `RESULTS.md` and the README's.

A workload that is run alone replaces its own part and leaves the others as they were measured.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import geometric_mean
from typing import Any

from bench.overall import hardest, is_scikit_learn, lines, sentence
from bench.remarks import REMARKS

HERE = Path(__file__).parent
STORE, TABLE, README = HERE / "results.json", HERE / "RESULTS.md", HERE.parent / "README.md"

#: the rows of the README: a task of a workload for each kind of model
SHORT = {
    "gaussian_nb": "fit",
    "logistic": "fit",
    "lasso_path": "path",
    "svc": "fit",
    "kde": "fit + score_samples",
}

PARITY = 1e-8  # a ratio counts only where both contenders reached the same answer

INTRODUCTION = f"""# Results

Written by `make bench`; do not edit. Seconds are medians of warm calls, mercer and the rival in one run on the same
arrays with the same number of threads; the first call, which compiles, stands apart. "Faster" is the rival's time
over mercer's and counts only where the answers differ by at most {PARITY:g} (or what the workload states in its "differ
by" column): the largest |a − b| / max(1, |b|) over the compared results, which for iterative fits are the values of the
objective. "Target" is what the project set out for. Memory is the peak beyond the input, as a share of it, with what
the call returns; in GB it is that of the whole process.
"""


RACE_HEADER = ("mercer, s", "rival, s", "faster", "target")
OUTCOME_HEADER = ("task", "rival", *RACE_HEADER, "first call, s", "differ by", "memory", "rival's")


@dataclass(frozen=True)
class Outcome:
    """One rival in one race."""

    task: str
    rival: str
    seconds: float
    first_call: float | None  # None where no call was the first one of this task
    rival_seconds: float
    reach: float | None
    difference: float
    memory: float | None
    rival_memory: float | None
    parity: float = PARITY
    whole_process: bool = False  # memory is the peak of a process, in bytes, and no share of the input

    @property
    def ratio(self) -> float | None:
        """How many times faster mercer is; None where the answers differ."""
        return self.rival_seconds / self.seconds if self.difference <= self.parity else None


@dataclass(frozen=True)
class Cell:
    """One task of one estimator at one number of rows, against scikit-learn."""

    estimator: str
    task: str
    rows: int
    seconds: float
    rival_seconds: float
    difference: float
    parity: float = PARITY

    @property
    def ratio(self) -> float | None:
        """How many times faster mercer is; None where the answers differ."""
        return self.rival_seconds / self.seconds if self.difference <= self.parity else None


@dataclass(frozen=True)
class Timing:
    """One number without a rival, against the limit the project set itself."""

    what: str
    seconds: float
    limit: float | None = None


@dataclass(frozen=True)
class Report:
    """All that one run of one workload measured, and on what."""

    workload: str
    size: str
    environment: str
    outcomes: tuple[Outcome, ...] = ()
    timings: tuple[Timing, ...] = ()
    cells: tuple[Cell, ...] = ()

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Report:
        outcomes = tuple(Outcome(**one) for one in record.pop("outcomes"))
        timings = tuple(Timing(**one) for one in record.pop("timings"))
        cells = tuple(Cell(**one) for one in record.pop("cells", ()))
        return cls(**record, outcomes=outcomes, timings=timings, cells=cells)


def load(store: Path = STORE) -> list[Report]:
    if not store.exists():
        return []
    return [Report.from_json(record) for record in json.loads(store.read_text(encoding="utf-8"))]


def save(report: Report, order: Sequence[str], store: Path = STORE) -> list[Report]:
    """Replace the workload's report, keep the others, in the order of the workloads; return them all."""
    reports = {one.workload: one for one in load(store)} | {report.workload: report}
    kept = [reports[name] for name in order if name in reports]
    store.write_text(json.dumps([asdict(one) for one in kept], indent=1) + "\n", encoding="utf-8")
    return kept


def write_tables(reports: Sequence[Report]) -> None:
    TABLE.write_text("\n".join([INTRODUCTION, overall(reports), *map(section, reports)]), encoding="utf-8")
    README.write_text(with_speed_table(README.read_text(encoding="utf-8"), reports), encoding="utf-8")


def section(report: Report) -> str:
    """One workload of RESULTS.md."""
    measured_on = ". ".join(part for part in (report.size, report.environment) if part)
    parts = [f"## {report.workload}\n", f"{measured_on}.\n"]
    if report.outcomes:
        parts.append(table(OUTCOME_HEADER, map(_outcome_cells, report.outcomes)))
    if report.cells:
        parts += [sentence_of_cells(report.cells), *tables_of_cells(report.cells)]
    if report.timings:
        parts.append(table(("what", "seconds", "limit"), map(_timing_cells, report.timings)))
    if (HERE / f"{report.workload}.svg").exists():
        shown = "times faster against rows" if report.cells else "seconds against rows"
        parts.append(f"![{shown}]({report.workload}.svg)\n")
    if report.workload in REMARKS:
        parts.append(REMARKS[report.workload] + "\n")
    return "\n".join(parts)


#: fits of up to so many rows are small
SMALL_FIT = 1_000


def sentence_of_cells(cells: Sequence[Cell]) -> str:
    """How much faster small fits are, and which cells are slower."""
    small = [one.ratio for one in cells if one.task == "fit" and one.rows <= SMALL_FIT and one.ratio is not None]
    slower = [one for one in cells if one.ratio is not None and one.ratio < 1]
    names = "; ".join(f"{one.estimator}, {one.task}, {one.rows:,} rows ({one.ratio:.2f}×)" for one in slower)
    differ = sum(one.ratio is None for one in cells)
    return (
        f"Fits of up to {SMALL_FIT:,} rows are {geometric_mean(small):.2f}× as fast as scikit-learn's in the geometric "
        f"mean of {len(small)}. {len(slower)} of {len(cells)} cells are slower"
        + (f": {names}" if names else "")
        + f". In {differ} the answers differ by more than the tolerances of the solvers allow (≠).\n"
    )


def tables_of_cells(cells: Sequence[Cell]) -> Iterator[str]:
    """Yield a table for each task: an estimator in each line, a number of rows in each column."""
    sizes = sorted({one.rows for one in cells})
    for task in dict.fromkeys(one.task for one in cells):
        lines: dict[str, dict[int, str]] = {}
        for one in cells:
            if one.task == task:
                lines.setdefault(one.estimator, {})[one.rows] = "≠" if one.ratio is None else f"{one.ratio:.3g}×"
        rows = ((name, *(line.get(size, "–") for size in sizes)) for name, line in lines.items())
        yield table((f"{task}: times scikit-learn", *(f"{size:,}" for size in sizes)), rows)


def overall(reports: Sequence[Report]) -> str:
    """All workloads in a few lines."""
    if not any(report.outcomes for report in reports):
        return "Not measured yet: `make bench`.\n"
    header = ("against", "workloads", "faster, geometric mean", "least")
    return f"{table(header, lines(reports))}\n{sentence(reports)}\n"


def with_speed_table(readme: str, reports: Sequence[Report]) -> str:
    """Return the README with the part between its two marks replaced: the means of all workloads, and five of them."""
    header = ("workload", "rows × columns", "task", "mercer, s", "times scikit-learn", "times the fastest rival")
    means = "".join(
        f"Against {against}: {mean} faster in the geometric mean of {count} workloads, {least} at least.\n"
        for against, count, mean, least in lines(reports)
    )
    between = f"{means}\n{table(header, _short_rows(reports))}"
    return re.sub(r"(<!-- speed -->\n).*?(<!-- /speed -->)", lambda m: m[1] + between + m[2], readme, flags=re.DOTALL)


def _short_rows(reports: Sequence[Report]) -> Iterator[tuple[str, ...]]:
    """Yield a line for each task of `SHORT` that was measured."""
    for report in reports:
        theirs = {one.task: one for one in hardest(report.outcomes, is_scikit_learn)}
        for one in hardest(report.outcomes):
            if SHORT.get(report.workload) == one.task:
                against = _faster(theirs.get(one.task)), _named(one)
                yield report.workload, report.size, one.task, _seconds(one.seconds), *against


def _faster(one: Outcome | None) -> str:
    return "–" if one is None else f"{one.ratio:.1f}×"


def _named(one: Outcome) -> str:
    return "(scikit-learn)" if is_scikit_learn(one) else f"{one.ratio:.1f}× ({one.rival})"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def _race_cells(one: Outcome) -> tuple[str, ...]:
    ratio = "answers differ" if one.ratio is None else f"{one.ratio:.1f}×"
    reach = "–" if one.reach is None else f"≥{one.reach:g}×"
    return _seconds(one.seconds), _seconds(one.rival_seconds), ratio, reach


def _outcome_cells(one: Outcome) -> tuple[str, ...]:
    return (
        one.task,
        one.rival,
        *_race_cells(one),
        "–" if one.first_call is None else _seconds(one.first_call),
        f"{one.difference:.0e} ≤ {one.parity:.0e}",
        _memory(one.memory, one.whole_process),
        _memory(one.rival_memory, one.whole_process),
    )


def _timing_cells(one: Timing) -> tuple[str, ...]:
    return one.what, _seconds(one.seconds), "–" if one.limit is None else f"≤{one.limit:.3g}"


def _seconds(value: float) -> str:
    return f"{value:.3g}"


def _memory(value: float | None, whole_process: bool) -> str:
    if value is None:
        return "–"
    return f"{value / 1e9:.2f} GB" if whole_process else f"{value:.0%}"
