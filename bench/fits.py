"""Races between models of one interface: fitting them, or asking what is fitted already."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from bench.harness import Arrays, Contender, Race, Results
from bench.results import PARITY


class Entrant(NamedTuple):
    make: Callable[[], Any]  # an unfitted model
    reach: float | None = None
    see: Callable[[Arrays], Any] = lambda data: data.X  # the form in which it gets X


def fit_race(
    ours: Entrant,
    rivals: Mapping[str, Entrant],
    results: Callable[[Any, Any], Results],
    *,
    task: str = "fit",
    parity: float = PARITY,
) -> Race:
    """Fit from nothing; `results(model, data)` must agree."""

    def prepare(entrant: Entrant, data: Arrays) -> Callable[[], Any]:
        X = entrant.see(data)
        return lambda: entrant.make().fit(X, data.y)

    return _race(task, prepare, ours, rivals, results, parity)


def asked_race(
    ours: Entrant,
    rivals: Mapping[str, Entrant],
    ask: Callable[[Any, Any], Any],
    results: Callable[[Any, Any], Results],
    *,
    task: str,
    parity: float = PARITY,
) -> Race:
    """Only `ask(model, data)` is timed, of a model fitted beforehand; what it returns is the answer."""

    def prepare(entrant: Entrant, data: Arrays) -> Callable[[], Any]:
        model = entrant.make().fit(entrant.see(data), data.y)
        return lambda: ask(model, data)

    return _race(task, prepare, ours, rivals, results, parity)


def transform_race(ours: Entrant, rivals: Mapping[str, Entrant], *, task: str) -> Race:
    """Features of all rows by a map fitted to them."""

    def prepare(entrant: Entrant, data: Arrays) -> Callable[[], Any]:
        return lambda: entrant.make().fit_transform(entrant.see(data))

    return _race(task, prepare, ours, rivals, lambda features, data: {"features": features}, PARITY)


def _race(
    task: str,
    prepare: Callable[[Entrant, Arrays], Callable[[], Any]],
    ours: Entrant,
    rivals: Mapping[str, Entrant],
    results: Callable[[Any, Any], Results],
    parity: float,
) -> Race:
    def contender(name: str, entrant: Entrant) -> Contender:
        return Contender(name, lambda data: prepare(entrant, data), entrant.reach)

    others = tuple(contender(name, rival) for name, rival in rivals.items())
    return Race(task, contender("mercer", ours), others, results, parity)
