"""How much data each half of a generative–discriminative pair needs."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from mercer.comparison.view import View, some_rows
from mercer.report import Note, Section

#: pairs that are tried; rows, sizes and repeats of the experiment, and seconds that one may take
MOST_PAIRS, MOST_ROWS, SIZES, REPEATS, MOST_SECONDS = 2, 1_000, 5, 5, 6.0


def curves(view: View) -> Section | None:
    """Learning curves of each pair that took part, with the size from which the discriminative half is ahead."""
    if not view.classification:
        return None
    blocks: list[Any] = []
    for generative, discriminative in pairs(view):
        found = _experiment(view, generative, discriminative)
        blocks += [found.chart(), *(Note(note) for note in found.notes)]
    if not blocks:
        return None
    rows = some_rows(view.comparison.table.n_rows, MOST_ROWS)
    return Section(
        "curves",
        "How much data it takes",
        tuple(blocks),
        "A generative model and its discriminative counterpart choose among like boundaries. The first often needs "
        "fewer rows, the second is often better with many (Ng and Jordan 2002). Both have the settings that all rows "
        f"chose; {REPEATS} repeats on {len(rows):,} rows, a third of them held out.",
    )


def pairs(view: View) -> list[tuple[Any, Any]]:
    """Generative entries and their counterparts, best first; of two that say the same only one, and none too slow."""
    by_name = {entry.name: entry for entry in view.ranked}
    found: list[tuple[Any, Any]] = []
    for entry in view.ranked:
        partner = by_name.get(entry.partner or "")
        if entry.kind != "generative" or partner is None or any(_same(entry, other) for other, _ in found):
            continue
        models = view.fitted(entry), view.fitted(partner)
        if None not in models and _cheap(entry, partner):
            found.append((entry, partner))
    return found[:MOST_PAIRS]


def _same(entry: Any, other: Any) -> bool:
    mine, theirs = entry.held_out, other.held_out
    return bool(mine.shape == theirs.shape and np.allclose(mine, theirs, equal_nan=True))


def _cheap(*entries: Any) -> bool:
    """By what their fits took, though these tune as well: a share of that for each of the smaller fits."""
    return bool(sum(entry.fit_seconds for entry in entries) * SIZES * REPEATS / 4 <= MOST_SECONDS)


def _experiment(view: View, generative: Any, discriminative: Any) -> Any:
    from mercer.comparison.learning_curves import learning_curves

    rows = some_rows(view.comparison.table.n_rows, MOST_ROWS)
    models = {entry.name: clone(view.fitted(entry)) for entry in (generative, discriminative)}
    tables = (generative.table.take(rows), discriminative.table.take(rows))
    classes = len(np.unique(view.comparison.y[rows]))
    least = max(10, 2 * classes)
    most = max(least + 1, int(len(rows) * 2 / 3))
    sizes = np.unique(np.geomspace(least, most, SIZES).round().astype(int))
    return learning_curves(models, tables, view.comparison.y[rows], sizes=[*sizes.tolist()[:-1], 1.0], repeats=REPEATS)
