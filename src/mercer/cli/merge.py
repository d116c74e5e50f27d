"""`mercer merge`: models of different rows, as if one had seen them all."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mercer._errors import MergeError
from mercer.cli._options import Quiet

if TYPE_CHECKING:
    from mercer.files import ModelCard


def merge(
    models: Annotated[list[str], typer.Argument(metavar="A B …", help="Files with models of the same kind.")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="PATH", help="Where the merged model goes.")],
    quiet: Quiet = False,
) -> None:
    """Merge models that were fitted to different rows.

    The result is the model that all rows together would have given.

    NaiveBayes, GaussianNB and GaussianDiscriminant can be merged exactly.

    \b
    mercer merge north.mercer south.mercer -o all.mercer
    """
    from mercer.cli._models import named, usable
    from mercer.cli._printing import check_places, remark
    from mercer.files import save

    check_places(output, kept=models)
    if len(models) < 2:
        raise MergeError("Merging takes two models or more: mercer merge A B -o C.")
    first, *others = (usable(path, predicts=False) for path in models)
    if not hasattr(first, "merge"):
        raise MergeError(
            f"{named(first)} cannot be merged: what it learnt from some rows does not say what all would have given. "
            "Fit it to all rows, or fit NaiveBayes, GaussianNB or GaussianDiscriminant, which can be merged."
        )
    for path, other in zip(models[1:], others, strict=True):
        if type(other) is not type(first):
            raise MergeError(f"{models[0]!r} holds a {named(first)}, but {path!r} a {named(other)}; fit models alike.")
        first = _merged(first, other, path)
    save(first, output, card=_merged_card(models))
    remark(f"The merged model is in {output}.", quiet)


def _merged_card(models: list[str]) -> ModelCard | None:
    """The card of the first model, with the rows of all; None where one of them has no card."""
    from mercer.application.model_cards import changed_card
    from mercer.files import describe

    cards = [card for card in (describe(path).card for path in models) if card is not None]
    if len(cards) < len(models):
        return None
    counts = [card.rows for card in cards if card.rows is not None]
    rows = sum(counts) if len(counts) == len(cards) else None
    return changed_card(cards[0], rows, f"It is merged from {len(cards)} models; the first one describes the columns.")


def _merged(first: Any, other: Any, path: str) -> Any:
    try:
        return first.merge(other)
    except MergeError as refusal:
        column = re.search(r"column '([^']+)'", str(refusal))
        hint = f" Here, fit all with --kind {column.group(1)}=KIND, e.g. number or category." if column else ""
        raise MergeError(f"{path!r} does not go with what is before it: {refusal}{hint}") from None
