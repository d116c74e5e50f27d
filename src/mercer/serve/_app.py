"""The application: what is at which address."""

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
from mercer.serve import _answers as answers
from mercer.serve._answers import MOST_ROWS, explain
from mercer.serve._limits import ANSWER_BYTES, Gate, RequestLimits
from mercer.serve.described import Inputs, body_schema, described, model_name, response_schema
from mercer.serve.page import PAGE, PAGE_HEADERS, RequestRefusal
from mercer.serve.rows import parsed, table, unseen

LOG = logging.getLogger("mercer.serve")


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
    """A FastAPI application that predicts with a fitted model.

    `POST /predict` takes rows as a JSON list of objects, and answers with predictions, probabilities, and sets or
    intervals where the model has them; `POST /explain` takes the same rows, and answers with what each column adds to
    the prediction. `GET /schema` says which columns rows have, `GET /health` that the server is up,
    `GET /openapi.json` all of it, and `/` is a page to try it.

    Parameters
    ----------
    model : estimator
        A fitted model or pipeline.
    schema : Schema, default=None
        Columns of the table that the model was fitted to; found out from the model if not given.
    token : str, default=None
        If given, every request but that for /health needs the header `Authorization: Bearer TOKEN`.
    max_body_bytes, max_rows : int
        Larger requests are refused (413), the bytes while they come in. Fewer rows are taken of a model with so many
        classes that the answer would have more than 32 MB; `GET /schema` has the number.
    max_concurrency : int, default=512
        Requests that are answered or wait for their turn at a time; others get 503 and may come back in a second.
    hosts : frozenset of str, default=None
        If given, names by which the server may be called: other sites cannot reach it under theirs.
    card : ModelCard, default=None
        What the model was fitted to: names the question on the page, which begins with a typical row. By default that
        of the file that the model was loaded from.

    Returns
    -------
    app : fastapi.FastAPI
        For uvicorn or any other ASGI server.

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
        raise DataError("The token has to be of ASCII characters, without spaces at its ends, and not empty.")
    limits = RequestLimits(max_body_bytes, max_rows, max_concurrency)
    limits.check()
    inputs = Inputs.of(model, schema)
    limits = limits._replace(rows=min(max_rows, max(ANSWER_BYTES // answers.bytes_per_row(model), 1)))
    app = fastapi.FastAPI(
        title=f"mercer: {model_name(model)}",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url="/openapi.json",
        redirect_slashes=False,  # whose answer would be an address that the client named itself
    )
    card = card or card_of(model)
    silent = _silent(model)
    if card is not None:
        attach_card(silent, card)
    _add_routes(app, fastapi, _Service(silent, inputs, limits, card))
    app.add_middleware(Gate, token=token, limits=limits, hosts=hosts)
    return app


class _Service:
    """The model, and what is known about it."""

    def __init__(self, model: Any, inputs: Inputs, limits: RequestLimits, card: ModelCard | None) -> None:
        self.model, self.inputs, self.limits, self.card = model, inputs, limits, card
        # more at a time would take no less time, but the memory of all
        self.turns = asyncio.Semaphore(available_cores())

    def predict(self, body: bytes) -> dict[str, Any]:
        rows, predictions = self._answered(body, self.limits.rows, answers.answers)
        return {"predictions": predictions, "notes": unseen(rows, self.inputs)}

    def explain(self, body: bytes) -> dict[str, Any]:
        return {"explanations": self._answered(body, min(self.limits.rows, MOST_ROWS), explain)[1]}

    def _answered(
        self, body: bytes, most: int, answer: Callable[[Any, Any], list[dict[str, Any]]]
    ) -> tuple[list[Any], list[dict[str, Any]]]:
        """The rows of a request, and an answer for each."""
        rows = parsed(body)
        if len(rows) > most:
            raise RequestRefusal(413, f"There are {len(rows):,} rows, and at most {most:,} are taken at a time.")
        try:
            return rows, answer(self.model, table(rows, self.inputs))
        except (MercerError, ValueError, TypeError) as error:
            raise RequestRefusal(422, " ".join(str(error).split())) from error

    @cached_property
    def schema(self) -> bytes:
        """As JSON, made once: there may be many levels."""
        description = described(self.model, self.inputs, self.card)
        content = {"model": model_name(self.model), **description, "limits": self.limits._asdict()}
        return json.dumps(content, allow_nan=False).encode()


def _add_routes(app: Any, fastapi: Any, service: _Service) -> None:
    responses = fastapi.responses

    async def predict(request: Any) -> Any:
        return await answered(request, service.predict)

    async def explain(request: Any) -> Any:
        return await answered(request, service.explain)

    async def answered(request: Any, answer: Callable[[bytes], dict[str, Any]]) -> Any:
        # asked for, since pages of other sites may send what has another type, or none, without asking
        kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
        if kind != "application/json":
            what = f"is {quoted(kind)}" if kind else "has no type"
            return _refused(
                responses, RequestRefusal(415, f"The body {what}; send it as Content-Type: application/json.")
            )
        body = await request.body()
        try:
            async with service.turns:
                content = await fastapi.concurrency.run_in_threadpool(answer, body)
            return responses.JSONResponse(content)
        except RequestRefusal as refusal:
            return _refused(responses, refusal)
        except Exception:
            LOG.exception("The model failed.")
            return _refused(
                responses, RequestRefusal(500, "The model failed on these rows; its error is in the server's log.")
            )

    # FastAPI reads annotations, and this module does not import it
    for posted in (predict, explain):
        posted.__annotations__ = {"request": fastapi.Request}

    # without a thread, so that they are answered while all threads predict
    async def schema() -> Any:
        return responses.Response(service.schema, media_type="application/json")

    async def health() -> Any:
        return responses.JSONResponse({"status": "ok"})

    async def page() -> Any:
        return responses.HTMLResponse(PAGE, headers=PAGE_HEADERS)

    for endpoint in (schema, health, page):
        endpoint.__annotations__ = {}
    body = {"required": True, "content": {"application/json": {"schema": body_schema(service.inputs)}}}
    app.add_api_route(
        "/predict",
        predict,
        methods=["POST"],
        summary="Predict rows",
        openapi_extra={"requestBody": body},
        responses={
            200: {"content": {"application/json": {"schema": response_schema()}}},
            **{status: {"description": why} for status, why in REFUSALS.items()},
        },
    )
    app.add_api_route(
        "/explain",
        explain,
        methods=["POST"],
        summary="Explain the predictions of rows",
        openapi_extra={"requestBody": body},
        responses={status: {"description": why} for status, why in REFUSALS.items()},
    )
    app.add_api_route("/schema", schema, methods=["GET"], summary="The columns of a row")
    app.add_api_route("/health", health, methods=["GET"], summary="Whether the server is up")
    app.add_api_route("/", page, methods=["GET"], include_in_schema=False)


REFUSALS = {
    400: "The body is no JSON",
    401: "A token is needed",
    413: "Too many bytes or rows",
    415: "The body is not application/json",
    422: "A column is unknown, lacking or of the wrong type; `detail` names it and its row",
    503: "Too many requests at a time; come back after the seconds of Retry-After",
}


def _silent(model: Any) -> Any:
    """The same model, whose features do not warn of levels never seen: `notes` of the answer name them."""
    steps = getattr(model, "steps", None)
    if steps is None or getattr(steps[0][1], "unseen", None) != "warn":
        return model
    name, features = steps[0]
    model, features = copy.copy(model), copy.copy(features)
    features.unseen = "ignore"
    model.steps = [(name, features), *steps[1:]]
    return model


def _refused(responses: Any, refusal: RequestRefusal) -> Any:
    return responses.Response(refusal.body(), refusal.status, media_type="application/json")
