"""What experiments with models have in common: who takes part under which name, and how they are repeated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np

from mercer._errors import DataError, EmptyDataError, ExperimentInterrupted
from mercer._typing import Array
from mercer.comparison.experiments.subsets import deal
from mercer.comparison.taking_part.entrants import by_written_name
from mercer.comparison.taking_part.kinds import innermost
from mercer.data.labels import encode_labels
from mercer.using.tasks import Classification

Result = TypeVar("Result", covariant=True)
#: told how many fits are done, of how many, and which model is next
Progress = Callable[[int, int, str], None]


def by_name(models: Mapping[str, Any] | Sequence[Any]) -> dict[str, Any]:
    """Models under the names that they have or under those of their classes; where these are the same, as they are
    written, and numbered where that is the same, too."""
    given = list(models.values()) if isinstance(models, Mapping) else list(models)
    for model in given:
        if isinstance(model, type) or not hasattr(model, "fit") or not hasattr(model, "get_params"):
            raise DataError(f"A model is an estimator such as GaussianNB(), not {model!r}.")
    if isinstance(models, Mapping):
        return by_written_name(models)
    names = [type(innermost(model)).__name__ for model in given]
    if len(set(names)) < len(names):
        names = [" ".join(repr(model).split()) for model in given]
    if len(set(names)) < len(names):
        names = [f"{name} {position}" for position, name in enumerate(names, start=1)]
    return dict(zip(names, given, strict=True))


def classes_of(y: Any, *n_rows: int) -> Classification:
    """What is to be told apart, one label for each row of every table."""
    task = Classification(*encode_labels(y))
    for rows in n_rows:
        if len(task.codes) != rows:
            raise DataError(f"X has {rows} rows, but y has {len(task.codes)} labels. Give one label per row.")
    if not len(task.codes):
        raise EmptyDataError("There are no rows; give at least a few of every class.")
    task.check()
    return task


def check_among(given: str, known: Sequence[str], what: str) -> None:
    """Refuse a name that is none of those known."""
    if given not in known:
        raise DataError(f"{what} is one of {', '.join(map(repr, known))}, not {given!r}.")


class Trials(Protocol[Result]):
    """What is done to models in each repeat, and what came of it."""

    tell: Progress
    total: int

    def run(self, repeat: int, train: Array, test: Array, rng: np.random.Generator) -> None: ...

    def result(self, repeats: int) -> Result: ...


def repeated(trials: Trials[Result], repeats: int, codes: Array, test_size: float, random_state: int) -> Result:
    """What came of so many repeats, in each of which rows are held out anew, class by class.

    Ctrl-C hands over what came of those that were done. One that was not is left out: its parts are not all there.
    """
    rng, repeat = np.random.default_rng(random_state), 0
    try:
        for repeat in range(repeats):
            trials.run(repeat, *deal(codes, test_size, rng), rng)
        trials.tell(trials.total, trials.total, "")
    except KeyboardInterrupt as stopped:
        kept = trials.result(repeat) if repeat else None
        raise ExperimentInterrupted(f"stopped by Ctrl-C; {repeat} of {repeats} repeats are done.", kept) from stopped
    return trials.result(repeats)


def untold(done: int, total: int, model: str) -> None:
    """To whom nothing is told."""
