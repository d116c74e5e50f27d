"""`mercer serve`: serve a model over HTTP."""

from __future__ import annotations

from typing import Annotated

import typer

from mercer.cli._options import Model, Quiet


def serve(
    model: Model,
    host: Annotated[
        str, typer.Option(help="The address to listen at; by default only this machine can connect.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port to listen at; 0 for any free port.")] = 8000,
    token: Annotated[
        str | None,
        typer.Option(envvar="MERCER_TOKEN", help="The token that clients must send: Authorization: Bearer TOKEN."),
    ] = None,
    open_to_all: Annotated[
        bool, typer.Option("--open-to-all", help="Allow an address that other machines can reach without a token.")
    ] = False,
    max_rows: Annotated[int, typer.Option(min=1, help="The maximum number of rows per request.")] = 10_000,
    max_body_bytes: Annotated[int, typer.Option(min=1, help="The maximum number of bytes per request.")] = 8_000_000,
    max_concurrency: Annotated[int, typer.Option(min=1, help="The maximum number of simultaneous requests.")] = 512,
    quiet: Quiet = False,
) -> None:
    """Serve a model over HTTP until Ctrl-C.

    The server has /predict, /explain, /schema and /health, and a small page at / to try the model.

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
    except KeyboardInterrupt:  # the usual end
        remark("Stopped.", quiet)
