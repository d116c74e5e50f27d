"""`mercer serve`: a model that answers over HTTP."""

from __future__ import annotations

from typing import Annotated

import typer

from mercer.cli._options import Model, Quiet


def serve(
    model: Model,
    host: Annotated[
        str, typer.Option(help="The address to listen at; nobody but this machine unless told otherwise.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port to listen at; 0 for any that is free.")] = 8000,
    token: Annotated[
        str | None,
        typer.Option(envvar="MERCER_TOKEN", help="What clients have to send: Authorization: Bearer TOKEN."),
    ] = None,
    open_to_all: Annotated[
        bool, typer.Option("--open-to-all", help="Listen at an address that others reach, without a token.")
    ] = False,
    max_rows: Annotated[int, typer.Option(min=1, help="The most rows of a request.")] = 10_000,
    max_body_bytes: Annotated[int, typer.Option(min=1, help="The most bytes of a request.")] = 8_000_000,
    max_concurrency: Annotated[int, typer.Option(min=1, help="The most requests at a time.")] = 512,
    quiet: Quiet = False,
) -> None:
    """Serve a model over HTTP until Ctrl-C.

    There are /predict, /schema and /health, and a small page to try it.

    \b
    mercer serve patients.mercer
    MERCER_TOKEN=secret mercer serve patients.mercer --host 0.0.0.0 --port 8080
    """
    from mercer.cli._printing import remark
    from mercer.files import load
    from mercer.serve import serve as serve_model

    try:
        serve_model(
            load(model),
            host,
            port,
            token=token,
            open_to_all=open_to_all,
            ready=lambda address: remark(f"{model} is served at {address} until Ctrl-C.", quiet),
            max_rows=max_rows,
            max_body_bytes=max_body_bytes,
            max_concurrency=max_concurrency,
        )
    except KeyboardInterrupt:  # which is how it is meant to end
        remark("Stopped.", quiet)
