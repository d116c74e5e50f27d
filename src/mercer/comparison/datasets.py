"""Something to compare models on: a file, or a data set that comes with scikit-learn."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from mercer._errors import ColumnMismatchError, DataNotFoundError, EmptyDataError
from mercer._suggest import did_you_mean, listed
from mercer.data import Problem, frame_like, read_table, split_target


class Bundled(NamedTuple):
    """A data set of scikit-learn: who loads it, and what its labels are called."""

    loader: str
    target: str


BUNDLED = {
    "breast-cancer": Bundled("load_breast_cancer", "diagnosis"),
    "digits": Bundled("load_digits", "digit"),
    "iris": Bundled("load_iris", "species"),
    "wine": Bundled("load_wine", "cultivar"),
}


def open_problem(
    data: str | Path, *, target: str | None = None, header: bool | None = None, drop: Sequence[str] = ()
) -> Problem:
    """Rows to learn from: `data` is a path, or the name of a bundled data set, whose target is known.

    Examples
    --------
    >>> problem = open_problem("iris")
    >>> problem.X.num_rows, problem.X.num_columns, problem.target
    (150, 4, 'species')
    """
    if str(data) in BUNDLED and not Path(data).exists():
        return split_target(load_bundled(str(data)), target or BUNDLED[str(data)].target, drop=drop)
    frame = _read(data, header=header)
    if target is None:
        raise ColumnMismatchError(
            f"Say which column of {Path(data).name!r} is the target (on the command line with --target). "
            f"There are {listed(frame.column_names)}."
        )
    problem = split_target(frame, target, drop=drop)
    if problem.unlabelled and not len(problem.y):
        raise EmptyDataError(
            f"The target {problem.target!r} is missing in all {problem.unlabelled} rows of {Path(data).name!r}; name "
            "another column."
        )
    return problem


def load_bundled(name: str) -> Any:
    """A data set of scikit-learn as a pyarrow table; its last column holds the labels."""
    from sklearn import datasets

    bunch = getattr(datasets, BUNDLED[name].loader)()
    names = [*map(str, bunch.feature_names), BUNDLED[name].target]
    labels = bunch.target_names[bunch.target]
    return frame_like(names, [*bunch.data.T, labels], "pyarrow")


def _read(data: str | Path, *, header: bool | None) -> Any:
    if not Path(data).exists() and not Path(data).suffix:
        raise DataNotFoundError(
            f"{str(data)!r} is neither a file nor a bundled data set. {did_you_mean(str(data), BUNDLED)}"
        )
    return read_table(data, header=header)
