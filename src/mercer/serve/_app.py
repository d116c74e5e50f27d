"""The FastAPI application and its routes.

Tokens, host names, sizes and the number of requests are checked by `_middleware`, before a route is called.
"""

from __future__ import annotations

import asyncio
import copy
import json
import logging
from collections.abc import Callable
from functools import cached_property
from typing import Any

from mercer import __version__
from mercer._errors import DataError, MercerError
from mercer._optional import require
from mercer._suggest import quoted
from mercer._threads import available_cores
from mercer.data.schema import Schema
from mercer.files import ModelCard, attach_card, card_of
from mercer.serve._answers import MAX_EXPLAINED_ROWS, bytes_per_row, explain, predict
from mercer.serve._middleware import MAX_ANSWER_BYTES, RequestLimits, RequestMiddleware
from mercer.serve.errors import RequestError
from mercer.serve.inputs import Inputs, body_schema, model_description, model_name, response_schema
from mercer.serve.page import PAGE_HEADERS, PAGE_HTML
from mercer.serve.rows import make_table, new_level_notes, parse_rows

SERVE_LOG = logging.getLogger("mercer.serve")


def make_app(
    model: Any,
    *,
    schema: Schema | None = None,
    token: str | None = None,
    max_body_bytes: int = 8_000_000,
    max_rows: int = 10_000,
    max_concurrency: int = 512,
    hosts: frozenset[str] | None = None,
    card: ModelCard | None = None,
) -> Any:
    """Return a FastAPI application that predicts with a fitted model.

    `POST /predict` takes rows as a JSON list of objects and returns predictions and, if the model has them,
    probabilities, and sets or intervals. `POST /explain` takes the same rows and returns what each column adds to the
    prediction. `GET /schema` returns the columns of a row, `GET /health` the state of the server,
    `GET /openapi.json` the description of the interface, and `/` is a page to try the model.

    Parameters
    ----------
    model : estimator
        A fitted model or pipeline.
    schema : Schema, default=None
        Columns of the table that the model was fitted to; by default they are taken from the model.
    token : str, default=None
        If given, every request except /health needs the header `Authorization: Bearer TOKEN`.
    max_body_bytes, max_rows : int
        Maximum size of a request; larger requests get status 413, too large bodies while they are received. If a
        model has so many classes that an answer would exceed 32 MB, fewer rows are accepted; `GET /schema` has the
        number.
    max_concurrency : int, default=512
        Number of requests that are answered or queued at a time; others get status 503 and can be repeated after a
        second.
    hosts : frozenset of str, default=None
        If given, the host names that requests may use, which protects the server from pages of other sites.
    card : ModelCard, default=None
        The model card, which has the question and the typical row on the page. By default the card of the file from
        which the model was loaded.

    Returns
    -------
    app : fastapi.FastAPI
        An application for uvicorn or any other ASGI server.

    Examples
    --------
    >>> from mercer import LinearRegression
    >>> from mercer.serve import make_app
    >>> app = make_app(LinearRegression().fit([[0.0], [2.0]], [1.0, 5.0]))
    >>> sorted(route.path for route in app.routes if route.path.startswith("/p"))
    ['/predict']
    """
    fastapi = require("fastapi", purpose="Serving a model", extra="serve")
    if token is not None and not (token.isascii() and token.strip() == token and token):
        raise DataError("The token must consist of ASCII characters, without spaces at its ends, and not be empty.")
    limits = RequestLimits(max_body_bytes, max_rows, max_concurrency)
    limits.check()
    inputs = Inputs.of(model, schema)
    limits = limits._replace(rows=min(max_rows, max(MAX_ANSWER_BYTES // bytes_per_row(model), 1)))
    app = fastapi.FastAPI(
        title=f"mercer: {model_name(model)}",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url="/openapi.json",
        redirect_slashes=False,  # a redirect would contain a host name chosen by the client
    )
    card = card or card_of(model)
    silent = _without_warnings(model)
    if card is not None:
        attach_card(silent, card)
    _add_routes(app, fastapi, _Service(silent, inputs, limits, card))
    app.add_middleware(RequestMiddleware, token=token, limits=limits, hosts=hosts)
    return app


class _Service:
    """The model with its inputs, limits and card."""

    def __init__(self, model: Any, inputs: Inputs, limits: RequestLimits, card: ModelCard | None) -> None:
        self.model, self.inputs, self.limits, self.card = model, inputs, limits, card
        # more predictions at a time would not be faster, but would need more memory
        self.turns = asyncio.Semaphore(available_cores())

    def predict(self, body: bytes) -> dict[str, Any]:
        """Return the answer to POST /predict."""
        rows, predictions = self._answer(body, self.limits.rows, predict)
        return {"predictions": predictions, "notes": new_level_notes(rows, self.inputs)}

    def explain(self, body: bytes) -> dict[str, Any]:
        """Return the answer to POST /explain."""
        return {"explanations": self._answer(body, min(self.limits.rows, MAX_EXPLAINED_ROWS), explain)[1]}

    def _answer(
        self, body: bytes, most: int, answer: Callable[[Any, Any], list[dict[str, Any]]]
    ) -> tuple[list[Any], list[dict[str, Any]]]:
        """Return the rows of a request, and an answer for each."""
        rows = parse_rows(body)
        if len(rows) > most:
            raise RequestError(413, f"The request has {len(rows):,} rows; send at most {most:,} at a time.")
        try:
            return rows, answer(self.model, make_table(rows, self.inputs))
        except (MercerError, ValueError, TypeError) as error:
            raise RequestError(422, " ".join(str(error).split())) from error

    @cached_property
    def schema(self) -> bytes:
        """The answer to GET /schema, which is made once because there may be many levels."""
        description = model_description(self.model, self.inputs, self.card)
        content = {"model": model_name(self.model), **description, "limits": self.limits._asdict()}
        return json.dumps(content, allow_nan=False).encode()


def _add_routes(app: Any, fastapi: Any, service: _Service) -> None:
    responses = fastapi.responses

    async def predict(request: Any) -> Any:
        return await respond(request, service.predict)

    async def explain(request: Any) -> Any:
        return await respond(request, service.explain)

    async def respond(request: Any, answer: Callable[[bytes], dict[str, Any]]) -> Any:
        # required because browsers let pages of other sites send other types without permission (CORS)
        kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
        if kind != "application/json":
            what = f"is {quoted(kind)}" if kind else "has no type"
            return _error_response(
                responses, RequestError(415, f"The body {what}; send it as Content-Type: application/json.")
            )
        body = await request.body()
        try:
            async with service.turns:
                content = await fastapi.concurrency.run_in_threadpool(answer, body)
            return responses.JSONResponse(content)
        except RequestError as error:
            return _error_response(responses, error)
        except Exception:
            SERVE_LOG.exception("The model failed.")
            return _error_response(
                responses, RequestError(500, "The model failed on these rows; its error is in the server's log.")
            )

    # FastAPI reads the annotations, but is not imported by this module
    for endpoint in (predict, explain):
        endpoint.__annotations__ = {"request": fastapi.Request}

    # these run without a thread, so that they are answered while all threads predict
    async def schema() -> Any:
        return responses.Response(service.schema, media_type="application/json")

    async def health() -> Any:
        return responses.JSONResponse({"status": "ok"})

    async def page() -> Any:
        return responses.HTMLResponse(PAGE_HTML, headers=PAGE_HEADERS)

    for quick in (schema, health, page):
        quick.__annotations__ = {}
    body = {"required": True, "content": {"application/json": {"schema": body_schema(service.inputs)}}}
    app.add_api_route(
        "/predict",
        predict,
        methods=["POST"],
        summary="Predict rows",
        openapi_extra={"requestBody": body},
        responses={
            200: {"content": {"application/json": {"schema": response_schema()}}},
            **{status: {"description": reason} for status, reason in ERROR_DESCRIPTIONS.items()},
        },
    )
    app.add_api_route(
        "/explain",
        explain,
        methods=["POST"],
        summary="Explain the predictions of rows",
        openapi_extra={"requestBody": body},
        responses={status: {"description": reason} for status, reason in ERROR_DESCRIPTIONS.items()},
    )
    app.add_api_route("/schema", schema, methods=["GET"], summary="The columns of a row")
    app.add_api_route("/health", health, methods=["GET"], summary="Whether the server is up")
    app.add_api_route("/", page, methods=["GET"], include_in_schema=False)


#: statuses of errors in the description of the interface
ERROR_DESCRIPTIONS = {
    400: "The body is not JSON",
    401: "A token is required",
    413: "Too many bytes or rows",
    415: "The body is not application/json",
    422: "A column is unknown, missing or of the wrong type; `detail` names the column and the row",
    503: "Too many requests at a time; try again after the seconds of Retry-After",
}


def _without_warnings(model: Any) -> Any:
    """Return the model without warnings of new levels, which are in the `notes` of an answer instead."""
    steps = getattr(model, "steps", None)
    if steps is None or getattr(steps[0][1], "unseen", None) != "warn":
        return model
    name, features = steps[0]
    model, features = copy.copy(model), copy.copy(features)
    features.unseen = "ignore"
    model.steps = [(name, features), *steps[1:]]
    return model


def _error_response(responses: Any, error: RequestError) -> Any:
    return responses.Response(error.body(), error.status, media_type="application/json")
