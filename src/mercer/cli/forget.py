"""`mercer forget`: a model without some of its rows."""

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
    output: Annotated[Path, typer.Option("--output", "-o", metavar="PATH", help="Where the model without them goes.")],
    target: Target = None,
    quiet: Quiet = False,
) -> None:
    """Take rows out of a model, exactly.

    What is left is the model that the other rows alone would have given.

    NaiveBayes, GaussianNB and GaussianDiscriminant can forget. Levels that only those rows had stay known.

    \b
    mercer forget patients.mercer withdrawn.csv --target outcome -o patients.mercer
    """
    from mercer.application.datasets import problem_of
    from mercer.application.model_cards import changed_card
    from mercer.application.reading import columns_of
    from mercer.cli._models import named, read_by, rows_for, usable
    from mercer.cli._printing import check_places, remark
    from mercer.files import describe, save
    from mercer.report.wording import counted

    check_places(output, kept=(data,))
    loaded = usable(model, predicts=False)
    if not hasattr(loaded, "forget"):
        raise MergeError(
            f"{named(loaded)} cannot forget rows exactly: fit it again without them. NaiveBayes, GaussianNB and "
            "GaussianDiscriminant can."
        )
    rows = rows_for(loaded, data, reading)
    problem = problem_of(rows, target=target)
    if problem.target in (columns_of(loaded) or ()):
        raise DataError(f"Column {problem.target!r} is one that the model reads; name the target of its fit.")
    left = loaded.forget(read_by(loaded, problem.X), problem.y)
    if (card := describe(model).card) is not None:
        count = None if card.rows is None else card.rows - len(problem.y)
        card = changed_card(card, count, f"{counted(len(problem.y), 'row')} were removed since it was fitted.")
    save(left, output, card=card)
    remark(f"The model without {counted(len(problem.y), 'row')} is in {output}.", quiet)
