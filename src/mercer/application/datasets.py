"""Open the data of a command: a file, or a data set bundled with scikit-learn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from mercer._errors import ColumnMismatchError, DataNotFoundError, EmptyDataError
from mercer._suggest import did_you_mean, listed
from mercer.data.frame_like import frame_like
from mercer.data.readers import Reading, TablePart, TableReader, open_rows
from mercer.data.readers.unpacking import STANDARD_INPUT
from mercer.data.target import TargetProblem, split_target


class Bundled(NamedTuple):
    """A data set of scikit-learn: the function that loads it, and the name of its target."""

    loader: str
    target: str


BUNDLED = {
    "breast-cancer": Bundled("load_breast_cancer", "diagnosis"),
    "digits": Bundled("load_digits", "digit"),
    "iris": Bundled("load_iris", "species"),
    "wine": Bundled("load_wine", "cultivar"),
}


@dataclass(frozen=True)
class BundledRows(TableReader):
    """A data set of scikit-learn, read like a file."""

    path: Path
    reading: Reading

    @property
    def described(self) -> str:
        return "comes with scikit-learn"

    def names(self) -> list[str]:
        return [str(name) for name in self.table().column_names]

    def table(self) -> Any:
        return self.finish(load_bundled(str(self.path)))

    def parts(self, columns: Sequence[str]) -> Iterator[TablePart]:
        yield TablePart(self.table().select(list(columns)), 1.0)


def open_data(data: str | Path, reading: Reading | None = None) -> TableReader:
    """Open a file or a folder, or the bundled data set of that name if no such file exists."""
    if str(data) == STANDARD_INPUT or Path(data).exists() or Path(data).suffix or ".zip/" in str(data):
        return open_rows(data, reading)
    if str(data) not in BUNDLED:
        raise DataNotFoundError(
            f"{str(data)!r} is neither a file nor a bundled data set. {did_you_mean(str(data), BUNDLED)}"
        )
    return BundledRows(Path(data), reading or Reading())


def problem_of(rows: TableReader, *, target: str | None = None, drop: Sequence[str] = ()) -> TargetProblem:
    """Separate the target from the other columns; a bundled data set has a default target.

    Examples
    --------
    >>> problem = problem_of(open_data("iris"))
    >>> problem.X.num_rows, problem.X.num_columns, problem.target
    (150, 4, 'species')
    """
    frame = rows.table()
    if target is None and isinstance(rows, BundledRows):
        target = BUNDLED[str(rows.path)].target
    if target is None:
        raise ColumnMismatchError(
            f"Say which column of {rows.path.name!r} is the target (on the command line with --target). "
            f"There are {listed(frame.column_names)}."
        )
    if not frame.num_rows:
        raise EmptyDataError(f"{rows.path.name!r} has column names, but no rows.")
    return split_target(frame, target, drop=drop, source=rows.path.name)


def load_bundled(name: str) -> Any:
    """Return a data set of scikit-learn as a pyarrow table; its last column holds the labels."""
    from sklearn import datasets

    bunch = getattr(datasets, BUNDLED[name].loader)()
    names = [*map(str, bunch.feature_names), BUNDLED[name].target]
    labels = bunch.target_names[bunch.target]
    return frame_like(names, [*bunch.data.T, labels], "pyarrow")
