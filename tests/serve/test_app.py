"""Tests of the application with a real HTTP client."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import httpx
import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

import mercer as m
from mercer._errors import DataError
from mercer.application.model_cards import make_card
from mercer.data import Table
from mercer.decision import ConformalClassifier, ConformalRegressor
from mercer.serve import make_app
from mercer.serve._middleware import RequestLimits, RequestMiddleware
from tests.serve._server import connection, served, served_app

JSON = {"content-type": "application/json"}
RNG = np.random.default_rng(0)
PEOPLE = pd.DataFrame(
    {
        "größe <b>": RNG.normal(170, 10, 60).round(1),
        "Stadt": RNG.choice(["Ulm", "Köln", "東京"], 60),
        "smokes": RNG.random(60) < 0.3,
        "children": RNG.integers(0, 2, 60),
    }
)
ILL = np.where(PEOPLE["größe <b>"] + 10 * PEOPLE["smokes"] + RNG.normal(0, 5, 60) > 172, "sí", "no")
MODEL = make_pipeline(m.TableFeatures(), m.LogisticRegression()).fit(PEOPLE, ILL)


def rows_of(frame: pd.DataFrame) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(frame.to_json(orient="records"))
    return rows


ROWS = rows_of(PEOPLE)


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    with served(MODEL, max_body_bytes=100_000, max_rows=100) as client:
        yield client


def probabilities(response: httpx.Response, classes: Any) -> Any:
    assert response.status_code == 200, response.text
    return [[row["probabilities"][str(label)] for label in classes] for row in response.json()["predictions"]]


def test_predictions_agree_with_the_model(client: httpx.Client) -> None:
    for body in (ROWS, {"rows": ROWS}):
        response = client.post("/predict", json=body)
        assert np.array_equal(probabilities(response, MODEL.classes_), MODEL.predict_proba(PEOPLE))
        assert [row["prediction"] for row in response.json()["predictions"]] == MODEL.predict(PEOPLE).tolist()
        assert response.json()["notes"] == []


def test_one_row_without_any_value(client: httpx.Client) -> None:
    nothing = dict.fromkeys(PEOPLE.columns)
    response = client.post("/predict", json=[nothing])
    known = pd.DataFrame(
        {"größe <b>": [np.nan], "Stadt": pd.Series([None], dtype=object), "smokes": [None], "children": [np.nan]}
    )
    np.testing.assert_allclose(probabilities(response, MODEL.classes_), MODEL.predict_proba(known))


def test_columns_may_come_in_any_order(client: httpx.Client) -> None:
    turned = [dict(reversed(row.items())) for row in ROWS[:5]]
    assert client.post("/predict", json=turned).json() == client.post("/predict", json=ROWS[:5]).json()


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        (b"{", 400, "not JSON"),
        (b"", 400, "not JSON"),
        (b"\xff\xfe[", 400, "not JSON"),
        (b"[" * 50_000, 400, "not JSON"),
        (b'[{"children": ' + b"9" * 5_000 + b"}]", 400, "not JSON"),
        ("[]".encode("utf-16"), 400, "not UTF-8"),
        (b'[{"Stadt": "\\ud800"}]', 400, "half of a character"),
        (b'[{"\\udfff": 1}]', 400, "half of a character"),
        (b'[{"\\udfff": 1, "\\udfff": 2}]', 422, "twice"),
        (b"3", 422, "must be a list of objects"),
        (b'"rows"', 422, "must be a list of objects"),
        (b'{"data": []}', 422, 'without "rows"'),
        (b"[]", 422, "no rows"),
        (b"[1]", 422, "Row 0 is 1"),
        (b"[null]", 422, "Row 0 is null"),
        (b'[{"children": NaN}]', 422, "has NaN"),
        (b'[{"children": -Infinity}]', 422, "has -Infinity"),
        (b'[{"children": 1, "children": 2}]', 422, "'children' twice"),
    ],
)
def test_bodies_that_are_not_lists_of_rows_are_rejected(
    client: httpx.Client, body: bytes, status: int, words: str
) -> None:
    response = client.post("/predict", content=body, headers=JSON)
    assert response.status_code == status
    assert words in response.json()["detail"]


@pytest.mark.parametrize(
    ("change", "column", "words"),
    [
        ({"stadt": "Ulm"}, "stadt", "Did you mean 'Stadt'?"),
        ({"größe <b>": "tall"}, "größe <b>", "'größe <b>' is the string 'tall' in row 2, but must be a number"),
        ({"größe <b>": True}, "größe <b>", "is true in row 2"),
        ({"größe <b>": [1]}, "größe <b>", "is a list in row 2"),
        ({"größe <b>": 1e999}, "größe <b>", "too large"),
        ({"größe <b>": 10**400}, "größe <b>", "too large"),
        ({"Stadt": 7}, "Stadt", "'Stadt' is 7 in row 2, but must be a string"),
        ({"Stadt": {}}, "Stadt", "is an object in row 2"),
        ({"smokes": "yes"}, "smokes", "must be true or false"),
    ],
)
def test_invalid_values_are_rejected(client: httpx.Client, change: dict[str, Any], column: str, words: str) -> None:
    body = json.dumps([*ROWS[:2], ROWS[2] | change]).replace("Infinity", "1e999")
    response = client.post("/predict", content=body.encode(), headers=JSON)
    assert response.status_code == 422
    assert words in response.json()["detail"]
    assert (response.json()["row"], response.json()["column"]) == (2, column)


def test_a_missing_column_is_rejected(client: httpx.Client) -> None:
    response = client.post("/predict", json=[ROWS[0], {"Stadt": "Ulm"}])
    assert response.status_code == 422
    assert "Row 1 lacks 'größe <b>', 'smokes', 'children'" in response.json()["detail"]


def test_an_unseen_level_is_noted(client: httpx.Client) -> None:
    response = client.post("/predict", json=[ROWS[0] | {"Stadt": "Koln"}])
    assert response.status_code == 200
    assert "'Stadt' is 'Koln' in row 0" in response.json()["notes"][0]
    assert "Did you mean 'Köln'?" in response.json()["notes"][0]


def test_errors_of_the_model_are_reported() -> None:
    with served(m.LogisticRegression().fit(PEOPLE[["children", "größe <b>"]], ILL)) as client:
        response = client.post("/predict", json=[{"children": None, "größe <b>": 170}])
    assert response.status_code == 422
    assert "Column 'children' has a missing value in row 0" in response.json()["detail"]


def test_too_many_rows_are_rejected(client: httpx.Client) -> None:
    response = client.post("/predict", json=ROWS * 2)
    assert response.status_code == 413
    assert "at most 100" in response.json()["detail"]


def test_a_body_that_is_declared_too_large_is_not_read(client: httpx.Client) -> None:
    request = b"POST /predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 999999999\r\n\r\n"
    assert answer_to(client, request).startswith(b"HTTP/1.1 413")


def test_a_chunked_body_that_is_too_large_is_cut_off(client: httpx.Client) -> None:
    """The server answers although the end of the body never comes."""
    start = b"POST /predict HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunks = (b"4000\r\n" + b" " * 0x4000 + b"\r\n") * 8
    assert answer_to(client, start + chunks).startswith(b"HTTP/1.1 413")


def test_a_client_that_does_not_complete_its_request_is_disconnected() -> None:
    limits = RequestLimits(body_bytes=1_000_000, rows=100, concurrency=1)
    with served_app(
        RequestMiddleware(make_app(MODEL), token=None, limits=limits, hosts=None, read_timeout=0.2)
    ) as client:
        request = b"POST /predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 10\r\n\r\n["
        assert answer_to(client, request).startswith(b"HTTP/1.1 408")
        assert client.post("/predict", json=ROWS).status_code == 200  # and its place is free


def answer_to(client: httpx.Client, request: bytes) -> bytes:
    with connection(client) as made:
        made.sendall(request)
        return made.recv(4096)


def test_other_content_types_and_methods_are_rejected(client: httpx.Client) -> None:
    assert client.post("/predict", content="[]", headers={"content-type": "text/plain"}).status_code == 415
    # a page of another site may send this without asking
    assert client.post("/predict", content=json.dumps(ROWS).encode()).status_code == 415
    assert client.get("/predict").status_code == 405
    for path in ("/nowhere", "/predict/", "/docs", "/..%2f..%2fetc%2fpasswd"):
        assert client.get(path).status_code == 404, path


def test_requests_of_other_sites_are_rejected(client: httpx.Client) -> None:
    headers = {"Origin": "http://evil.example", "Access-Control-Request-Method": "POST"}
    for response in (client.options("/predict", headers=headers), client.get("/schema", headers=headers)):
        assert not [name for name in response.headers if name.startswith("access-control")]
        assert response.headers["cross-origin-resource-policy"] == "same-origin"


def test_websockets_are_rejected() -> None:
    """Websockets would bypass the token and the limits."""
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "websocket.connect"}

    app = make_app(MODEL, token="secret")
    asyncio.run(app({"type": "websocket", "path": "/", "headers": []}, receive, send))
    assert sent == [{"type": "websocket.close"}]


def test_64_concurrent_clients_are_answered(client: httpx.Client) -> None:
    expected = MODEL.predict_proba(PEOPLE)

    def ask(j: int) -> bool:
        rows = [j % 60, (7 * j) % 60]
        response = client.post("/predict", json=[ROWS[row] for row in rows])
        return np.allclose(probabilities(response, MODEL.classes_), expected[rows], rtol=0, atol=1e-12)

    with ThreadPoolExecutor(64) as pool:
        assert all(pool.map(ask, range(256)))


class Slow:
    """Model that waits until an event is set."""

    feature_names_in_ = np.array(["x"])
    n_features_in_ = 1

    def __init__(self) -> None:
        self.begun, self.go = threading.Event(), threading.Event()

    def predict(self, X: Any) -> Any:
        self.begun.set()
        assert self.go.wait(20)
        return np.array([np.nan])


def test_too_many_concurrent_requests_are_asked_to_retry() -> None:
    slow = Slow()
    with served(slow, max_concurrency=1) as client, ThreadPoolExecutor(1) as pool:
        first = pool.submit(client.post, "/predict", json=[{"x": 1}])
        assert slow.begun.wait(20)
        second = client.post("/predict", json=[{"x": 1}])
        assert client.get("/health").status_code == 200  # which is always answered
        slow.go.set()
        assert (second.status_code, second.headers["retry-after"]) == (503, "1")
        # values that are not numbers are null
        assert first.result().json()["predictions"] == [{"prediction": None}]
        assert client.post("/predict", json=[{"x": 1}]).status_code == 200


def test_slow_requests_do_not_block_others() -> None:
    with served(MODEL, max_concurrency=1) as client, ExitStack() as stack:
        for _ in range(5):
            slow = stack.enter_context(connection(client))
            slow.sendall(b"POST /predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 10\r\n\r\n[")
        assert client.post("/predict", json=ROWS).status_code == 200


def test_if_memory_is_short_the_oldest_slow_request_is_disconnected() -> None:
    limits = RequestLimits(body_bytes=60_000, rows=100, concurrency=512)
    middleware = RequestMiddleware(
        make_app(MODEL), token=None, limits=limits, hosts=None, max_answer_bytes=1, max_buffers=2
    )
    head = b"POST /predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 60000\r\n\r\n"
    with served_app(middleware) as client, connection(client) as first, connection(client) as second:
        for slow in (first, second):
            slow.sendall(head + b" " * 55_000)
            assert client.get("/health").status_code == 200
        assert client.post("/predict", content=b" " * 55_000 + b"[]", headers=JSON).status_code == 422
        assert first.recv(4096).startswith(b"HTTP/1.1 408")
        second.sendall(b" " * 5_000)
        assert second.recv(4096).startswith(b"HTTP/1.1 415")  # it was read to its end


def test_the_size_of_answers_is_bounded() -> None:
    many = Slow()
    many.classes_ = np.array([f"{'long name' * 100}{j}" for j in range(1000)])  # type: ignore[attr-defined]
    many.go.set()
    with served(many) as client:
        most = client.get("/schema").json()["limits"]["rows"]
        assert 1 <= most < 100
        response = client.post("/predict", json=[{"x": 1}] * (most + 1))
        assert response.status_code == 413
        assert f"send at most {most} at a time" in response.json()["detail"]


def test_health_is_answered_while_all_threads_predict() -> None:
    slow = Slow()
    with served(slow) as client, ThreadPoolExecutor(50) as pool:
        waiting = [pool.submit(client.post, "/predict", json=[{"x": 1}]) for _ in range(50)]
        assert slow.begun.wait(20)
        assert client.get("/health", timeout=10).status_code == 200
        slow.go.set()
        assert all(each.result().status_code == 200 for each in waiting)


class Broken(Slow):
    def predict(self, X: Any) -> Any:
        raise ZeroDivisionError("a secret of the server")


def test_a_failing_model_gives_an_internal_error(caplog: pytest.LogCaptureFixture) -> None:
    with served(Broken()) as client:
        response = client.post("/predict", json=[{"x": 1}])
    assert response.status_code == 500
    assert "secret" not in response.text
    assert "secret" in caplog.text


def test_a_token_is_required_for_everything_except_health() -> None:
    with served(MODEL, token="open sesame") as client:
        for path in ("/", "/schema", "/openapi.json", "/nowhere"):
            assert client.get(path).status_code == 401, path
        for header in ("Bearer", "Bearer open", "Basic open sesame", "Bearer open sesame2", "open sesame"):
            response = client.post("/predict", json=ROWS, headers={"Authorization": header})
            assert response.status_code == 401
            assert response.headers["www-authenticate"] == "Bearer"
        assert client.post("/predict", content=b"x" * 10_000_000).status_code == 401  # before it is read
        assert client.get("/health").json() == {"status": "ok"}
        client.headers["Authorization"] = "Bearer open sesame"
        assert client.post("/predict", json=ROWS).status_code == 200
        assert client.get("/schema").status_code == 200


def test_limits_that_would_reject_every_request_are_rejected() -> None:
    for name in ("max_rows", "max_body_bytes", "max_concurrency"):
        with pytest.raises(DataError, match=f"{name} is 0"):
            make_app(MODEL, **{name: 0})


def test_tokens_that_are_invalid_in_headers_are_rejected() -> None:
    for token in ("", " x", "schlüssel"):
        with pytest.raises(DataError, match="ASCII"):
            make_app(MODEL, token=token)


def test_other_host_names_are_rejected() -> None:
    with served(MODEL, hosts=frozenset({"127.0.0.1"})) as client:
        assert client.get("/schema").status_code == 200
        response = client.get("/schema", headers={"Host": "evil.example:80"})
        assert response.status_code == 400
        assert "this machine only" in response.json()["detail"]


def test_the_schema_describes_the_columns(client: httpx.Client) -> None:
    schema = client.get("/schema").json()
    assert (schema["model"], schema["task"], schema["classes"]) == (
        "LogisticRegression",
        "classification",
        ["no", "sí"],
    )
    assert [column["type"] for column in schema["columns"]] == ["number", "string", "boolean", "number"]
    assert schema["columns"][1]["levels"] == ["Köln", "Ulm", "東京"]
    assert schema["limits"] == {"body_bytes": 100_000, "rows": 100, "concurrency": 512}


def test_openapi_describes_rows(client: httpx.Client) -> None:
    document = client.get("/openapi.json").json()
    body = document["paths"]["/predict"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert body["oneOf"][0]["items"]["required"] == list(PEOPLE.columns)
    assert set(document["paths"]) == {"/predict", "/explain", "/schema", "/health"}


def test_sets_intervals_and_scores() -> None:
    y = PEOPLE["größe <b>"].to_numpy()
    X = PEOPLE[["children"]].assign(shifted=y + 1)
    interval = ConformalRegressor(m.LinearRegression(), coverage=0.8).fit(X, y)
    with served(interval) as client:
        response = client.post("/predict", json=rows_of(X)).json()["predictions"]
    np.testing.assert_allclose([row["interval"] for row in response], interval.predict_interval(X))
    sets = ConformalClassifier(m.LogisticRegression(), coverage=0.8).fit(X, ILL)
    with served(sets) as client:
        response = client.post("/predict", json=rows_of(X)).json()["predictions"]
    assert [len(row["set"]) for row in response] == sets.predict_set(X).sum(axis=1).tolist()
    boundary = m.LinearSVC().fit(X, ILL)
    with served(boundary) as client:
        response = client.post("/predict", json=rows_of(X)).json()["predictions"]
    np.testing.assert_allclose([row["scores"] for row in response], boundary.decision_function(X))


def test_models_of_arrays_and_of_mixed_columns() -> None:
    numbers = PEOPLE[["größe <b>", "children"]].to_numpy(dtype=float)
    model = m.GaussianNB().fit(numbers, ILL)
    with served(model) as client:
        assert [column["name"] for column in client.get("/schema").json()["columns"]] == ["x0", "x1"]
        response = client.post("/predict", json=[{"x0": 170, "x1": None}])
        np.testing.assert_allclose(probabilities(response, model.classes_), model.predict_proba([[170, np.nan]]))
    mixed = m.NaiveBayes(m.Schema.infer(PEOPLE)).fit(PEOPLE, ILL)
    with served(mixed) as client:
        np.testing.assert_allclose(
            probabilities(client.post("/predict", json=ROWS), mixed.classes_), mixed.predict_proba(PEOPLE)
        )


def test_explanations_add_up_to_the_prediction() -> None:
    frame = pd.DataFrame({"age": np.arange(60.0), "city": ["Ulm", "Bonn", "Jena"] * 20})
    y = np.where(frame["age"] + 20 * (frame["city"] == "Ulm") > 40, "yes", "no")
    for model in (m.LogisticRegression(), m.SVC()):
        whole = make_pipeline(m.TableFeatures(), model).fit(frame, y)
        card = make_card(whole, Table.of(frame), y, task="classification", target="bought")
        with served(whole, card=card) as client:
            answer = client.post("/explain", json=[{"age": 50, "city": "Bonn"}])
            assert answer.status_code == 200, answer.text
            found = answer.json()["explanations"][0]
            assert found["base"] + sum(each["adds"] for each in found["contributions"]) == pytest.approx(found["total"])
            proba = whole.predict_proba(pd.DataFrame({"age": [50.0], "city": ["Bonn"]}))[0, 1]
            assert found["total"] == pytest.approx(np.log(proba / (1 - proba)), abs=1e-6)
            assert client.post("/explain", json=[{"age": 50, "town": "Bonn"}]).status_code == 422


def test_the_schema_has_the_question_and_a_typical_row() -> None:
    frame = pd.DataFrame({"age": np.arange(61.0), "city": ["Ulm", "Bonn", "Ulm"] * 20 + ["Ulm"]})
    price = np.sin(np.arange(61.0))
    model = make_pipeline(m.TableFeatures(), m.Ridge()).fit(frame, price)
    card = make_card(model, Table.of(frame), price, task="regression", target="price")
    with served(model, card=card) as client:
        found = client.get("/schema").json()
        assert found["card"]["question"] == "Predict the number `price`"
        assert {each["name"]: each["typical"] for each in found["columns"]} == {"age": 30, "city": "Ulm"}
