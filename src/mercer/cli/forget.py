"""`mercer forget`: remove rows from a model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mercer._errors import DataError, MergeError
from mercer.cli._options import DATA_HELP, Model, Quiet, Target, with_reading

if TYPE_CHECKING:
    from mercer.data.readers import Reading


@with_reading()
def forget(
    model: Model,
    data: Annotated[str, typer.Argument(metavar="ROWS", help=f"The rows to forget. {DATA_HELP}")],
    reading: Reading,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="PATH", help="The file to write.")],
    target: Target = None,
    quiet: Quiet = False,
) -> None:
    """Remove rows from a model, exactly.

    The result is the model of a fit without these rows.

    NaiveBayes, GaussianNB and GaussianDiscriminant can forget rows. Levels that only the removed rows had are kept.

    \b
    mercer forget patients.mercer withdrawn.csv --target outcome -o patients.mercer
    """
    from mercer.application.datasets import problem_of
    from mercer.application.model_cards import update_card
    from mercer.application.reading import columns_of
    from mercer.cli._models import describe_model, load_fitted, open_rows, select_read
    from mercer.cli._printing import check_outputs, remark
    from mercer.files import describe, save
    from mercer.report.wording import format_count

    check_outputs(output, inputs=(data,))
    loaded = load_fitted(model, predicts=False)
    if not hasattr(loaded, "forget"):
        raise MergeError(
            f"{describe_model(loaded)} cannot forget rows exactly: fit it again without them. NaiveBayes, GaussianNB "
            "and GaussianDiscriminant can."
        )
    rows = open_rows(loaded, data, reading)
    problem = problem_of(rows, target=target)
    if problem.target in (columns_of(loaded) or ()):
        raise DataError(f"The model reads column {problem.target!r} as a feature. Name the target of its fit.")
    left = loaded.forget(select_read(loaded, problem.X), problem.y)
    if (card := describe(model).card) is not None:
        count = None if card.rows is None else card.rows - len(problem.y)
        card = update_card(card, count, f"{format_count(len(problem.y), 'row')} were removed since it was fitted.")
    save(left, output, card=card)
    remark(f"The model without {format_count(len(problem.y), 'row')} is in {output}.", quiet)
