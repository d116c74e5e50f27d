"""Files of older versions can be loaded, and their models have the same predictions."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from mercer.files import describe, load
from mercer.files._container import VERSION
from tests.files._golden import GOLDEN, MODELS, answers

FILES = sorted(GOLDEN.glob("v*/*.mercer"))


def test_there_are_files_of_every_version() -> None:
    assert {path.parent.name for path in FILES} == {f"v{version}" for version in range(1, VERSION + 1)}
    assert {path.stem for path in FILES if path.parent.name == f"v{VERSION}"} == set(MODELS)


@pytest.mark.filterwarnings("ignore:Trying to unpickle")  # scikit-learn may have moved on
@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_an_older_file_gives_the_same_predictions(path: Path) -> None:
    about = MODELS[path.stem]
    expected = json.loads(path.with_suffix(".json").read_text())
    found = answers(load(path), about)
    assert found.keys() == expected.keys()
    for name, answer in expected.items():
        if isinstance(np.ravel(answer)[0], str):
            assert found[name] == answer
        else:
            np.testing.assert_allclose(found[name], answer, rtol=1e-12, atol=1e-12)
    assert f"v{describe(path).version}" == path.parent.name
