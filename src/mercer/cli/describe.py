"""`mercer describe`: print the card of a model."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from mercer._errors import DataError
from mercer.cli._options import Model


def describe(
    model: Model,
    json: Annotated[bool, typer.Option("--json", help="Print the card as JSON.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the card as Markdown.")] = False,
) -> None:
    """Print the card of a model.

    The card has the target, the data of the fit, held-out scores, columns and limits; parameters and the certificate
    follow.

    \b
    mercer describe patients.mercer
    mercer describe patients.mercer --markdown > card.md
    """
    from mercer.cli._printing import print_text, to_json, write
    from mercer.explanation.tables import describe_model
    from mercer.files import describe as describe_file
    from mercer.files import load

    if json and markdown:
        raise DataError("--json and --markdown are two forms of the same card. Give one of them.")
    file = describe_file(model)
    about = f"{model}: {file.size:,} bytes, format {file.version}, written by mercer {file.mercer}"
    lines = list(describe_model(load(model), columns=file.card is None))
    if json:
        record: dict[str, Any] = file._asdict()
        card = None if file.card is None else file.card.to_dict()
        write(to_json({**record, "card": card, "describe_model": lines}), "-")
        return
    if file.card is not None:
        print_text(file.card.markdown() if markdown else file.card.text(), end="\n\n")
    if markdown:
        print("## Model file" if file.card is not None else "# Model file", end="\n\n")
    for line in (about, *lines):
        print_text(f"- {line}" if markdown and "\n" not in line else line)
