"""`mercer describe`: what is in a model file."""

from __future__ import annotations

from mercer.cli._options import Model


def describe(model: Model) -> None:
    """Say what a model file holds.

    The model, its parameters, the columns it reads, and its certificate.

    \b
    mercer describe patients.mercer
    """
    from mercer.files import describe as look_at
    from mercer.files import load
    from mercer.using.explaining.described import described

    file = look_at(model)
    print(f"{model}: {file.size:,} bytes, format {file.version}, written by mercer {file.mercer}")
    for line in described(load(model)):
        print(line)
