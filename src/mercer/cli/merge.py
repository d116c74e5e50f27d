"""`mercer merge`: combine models that were fitted to different rows."""

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
    models: Annotated[list[str], typer.Argument(metavar="A B …", help="Files of models of the same class.")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="PATH", help="The file to write.")],
    quiet: Quiet = False,
) -> None:
    """Merge models that were fitted to different rows.

    The result is the model of a fit to all rows together.

    NaiveBayes, GaussianNB and GaussianDiscriminant can be merged exactly.

    \b
    mercer merge north.mercer south.mercer -o all.mercer
    """
    from mercer.cli._models import describe_model, load_fitted
    from mercer.cli._printing import check_outputs, remark
    from mercer.files import save

    check_outputs(output, inputs=models)
    if len(models) < 2:
        raise MergeError("Merging needs two models or more: mercer merge A B -o C.")
    first, *others = (load_fitted(path, predicts=False) for path in models)
    if not hasattr(first, "merge"):
        raise MergeError(
            f"{describe_model(first)} cannot be merged: fits to parts of the rows do not determine the fit to all. Fit "
            "it to all rows, or fit NaiveBayes, GaussianNB or GaussianDiscriminant, which can be merged."
        )
    for path, other in zip(models[1:], others, strict=True):
        if type(other) is not type(first):
            raise MergeError(
                f"{models[0]!r} holds a {describe_model(first)}, but {path!r} a {describe_model(other)}. Fit models of "
                "the same class."
            )
        first = _merge(first, other, path)
    save(first, output, card=_merged_card(models))
    remark(f"The merged model is in {output}.", quiet)


def _merged_card(models: list[str]) -> ModelCard | None:
    """Return the card of the first model with the number of all rows; None if a model has no card."""
    from mercer.application.model_cards import update_card
    from mercer.files import describe

    cards = [card for card in (describe(path).card for path in models) if card is not None]
    if len(cards) < len(models):
        return None
    counts = [card.rows for card in cards if card.rows is not None]
    rows = sum(counts) if len(counts) == len(cards) else None
    return update_card(cards[0], rows, f"It is merged from {len(cards)} models; the first one describes the columns.")


def _merge(first: Any, other: Any, path: str) -> Any:
    try:
        return first.merge(other)
    except MergeError as error:
        column = re.search(r"column '([^']+)'", str(error))
        hint = f" Here, fit all with --kind {column.group(1)}=KIND, e.g. number or category." if column else ""
        raise MergeError(f"{path!r} cannot be merged with the models before it: {error}{hint}") from None
