"""Models of a comparison by their names."""

from __future__ import annotations

from collections.abc import Sequence

from mercer._errors import DataError
from mercer._suggest import did_you_mean
from mercer.comparison.taking_part.entrants import Entrant, Invitation, with_partners
from mercer.comparison.taking_part.kinds import innermost, kind_of
from mercer.data import Table
from mercer.using.preparing import CLASSIFIERS, MODELS, prepared


def chosen(names: Sequence[str], invitation: Invitation, table: Table, task: str) -> Invitation:
    """Those of the invited who are listed by these names, or are of a class of that name; others are made ready."""
    found: list[Entrant] = []
    for name in names:
        found += [
            each for each in _by_name(name, invitation, table, task) if each.name not in {one.name for one in found}
        ]
    absent = {each.name for each in invitation.entrants} - {each.name for each in found}
    about_others = [
        note for note in invitation.notes if note.startswith("Left out") or any(one in note for one in absent)
    ]
    # partners were those among all who were invited
    return Invitation(with_partners(found), [note for note in invitation.notes if note not in about_others])


def _by_name(name: str, invitation: Invitation, table: Table, task: str) -> list[Entrant]:
    called = [each for each in invitation.entrants if each.name.casefold() == name.casefold()]
    same_class = [
        each for each in invitation.entrants if type(innermost(each.model)).__name__.casefold() == name.casefold()
    ]
    if called or same_class:
        return called or same_class
    known = {each.casefold(): each for each in MODELS}
    if name.casefold() not in known:
        raise DataError(f"There is no model {name!r}. {did_you_mean(name, [*known.values()])}")
    name = known[name.casefold()]
    if name != "GLM" and (name in CLASSIFIERS) != (task in ("classification", "ordered")):
        suits = [each.name for each in invitation.entrants]
        raise DataError(f"{name} is not a model for the task {task}. {did_you_mean(name, suits)}")
    ready = prepared(name, table.native)
    return [Entrant(name, ready.model, Table.of(ready.frame, dates=True), kind_of(ready.model))]
