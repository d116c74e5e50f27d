"""A checkpoint that was damaged is rejected, or the fit is the same; a body of any bytes is answered, or rejected."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import mercer
import mercer.data
from mercer._errors import CheckpointError, ModelFileError
from mercer.engines.passes import Run, enter_run
from mercer.files.checkpoints import Checkpoint, checkpointed
from tests.fuzz._mutate import SEEDS, WORDS_OF_TEXT, damaged, in_json

RNG = np.random.default_rng(3)
X, Y = RNG.normal(size=(60, 2)), np.arange(60) % 3
ROWS = [{"x0": 1.5, "x1": -2}, {"x0": None, "x1": 0}, {"x1": 1e3, "x0": 3.25}]


def fitted(max_iter: int = 20) -> Any:
    return mercer.LogisticRegression(max_iter=max_iter).fit(mercer.data.open(X, y=Y, rows=7))


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """The folder of a fit that was killed at its end, and the model."""
    folder = tmp_path_factory.mktemp("kept") / "fit"
    with Checkpoint(folder, every=0.0) as journal, enter_run(Run(journal=journal)):
        model = fitted()
    return folder, model


def test_a_damaged_checkpoint_is_rejected_or_has_no_effect(campaign: Any, kept: Any, tmp_path: Path) -> None:
    folder, model = kept
    files = sorted(path.name for path in folder.iterdir())

    def change(seed: int) -> tuple[str, bytes]:
        rng = Random(seed)
        name = rng.choice((rng.choice(files), "checkpoint.json"))
        octets = (folder / name).read_bytes()
        if name.endswith(".json") and rng.random() < 0.7:
            return name, json.dumps(in_json(json.loads(octets), rng)).encode()
        return name, damaged(octets, rng, WORDS_OF_TEXT)

    def law(changed: tuple[str, bytes]) -> str:
        name, octets = changed
        copy = tmp_path / "fit"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(folder, copy)
        (copy / name).write_bytes(octets)
        try:
            with checkpointed(copy):
                again = fitted()
        except (CheckpointError, ModelFileError):
            return "rejected"
        np.testing.assert_array_equal(again.coef_, model.coef_)
        return "the same"

    campaign(law, SEEDS.map(change), samples=15)


@pytest.fixture(scope="module")
def client() -> Any:
    pytest.importorskip("fastapi", reason="serving needs fastapi")
    pytest.importorskip("httpx", reason="the server is asked through httpx")
    from tests.serve._server import served

    with served(mercer.GaussianNB().fit(X, Y), max_body_bytes=50_000, max_rows=100) as client:
        yield client


def test_any_request_body_is_answered_or_rejected_with_a_sentence(campaign: Any, client: Any) -> None:
    def change(seed: int) -> bytes:
        rng = Random(seed)
        rows: Any = ROWS if rng.random() < 0.5 else {"rows": ROWS}
        for _ in range(rng.randrange(3)):
            rows = in_json(rows, rng, ("x0", "\ud800", "NaN", -0.0))
        return damaged(json.dumps(rows).encode(), rng, WORDS_OF_TEXT, most=rng.choice((0, 0, 3)))

    def law(body: bytes) -> str:
        response = client.post("/predict", content=body, headers={"content-type": "application/json"})
        said = response.json()
        if response.status_code == 200:
            assert len(said["predictions"]) > 0
            return "answered"
        assert 400 <= response.status_code < 500, (response.status_code, said)
        assert str(next(iter(said.values()))).strip(), said
        return "rejected"

    campaign(law, SEEDS.map(change), samples=40)
