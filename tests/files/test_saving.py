"""Values that cannot be saved, the writing of files, and their descriptions."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import mercer
from mercer import kernels, load, save
from mercer._errors import UnsavableError, WriteError
from mercer.files import describe
from tests.files._again import again
from tests.files._cases import frame, numbers, words


def spell(text: str) -> list[str]:
    return text.split()


def circle() -> Any:
    inner: list[Any] = [1]
    inner.append(inner)
    return inner


def deep() -> Any:
    kernel: Any = kernels.RBF(1.0)
    for _ in range(200):
        kernel = kernel + kernels.Linear()
    return kernel


@pytest.mark.parametrize(
    ("model", "place", "what"),
    [
        (mercer.CountVectorizer(tokenizer=spell), "model.tokenizer", "the function spell"),
        (make_pipeline(mercer.TfidfVectorizer(analyzer=spell), mercer.Ridge()), "model.steps[0][1].analyzer", "spell"),
        (mercer.SVC(kernel=kernels.FromFunction(np.dot)), "model.kernel", "FromFunction"),
        (mercer.KernelRidge(kernel=lambda x, z: 1.0), "model.kernel", "the function <lambda>"),
        (mercer.LogisticRegression(C=circle()), "model.C[1]", "contains itself"),
        (mercer.GLM(kernel=deep()), "model.kernel.k1.k1", "nested more than 100 levels deep"),
        (make_pipeline(PCA(), mercer.Ridge()), "model.steps[0][1]", "sklearn.decomposition._pca.PCA"),
        (make_pipeline(FunctionTransformer(np.log)), "model.steps[0][1].func", "the function log"),
        (make_pipeline(mercer.Ridge(), memory="cache"), "model.memory", "pickles"),
        (mercer.TableFeatures(formula="age.fillna(0)"), "model.formula", "a call of 'age.fillna'"),
        (mercer.Ridge(alpha=np.longdouble(1)), "model.alpha", "longdouble|float128"),
        (mercer.Ridge(alpha=np.zeros(2, dtype=[("a", float)])), "model.alpha", "array of"),
        (object(), "model", "builtins.object"),
    ],
)
def test_values_that_cannot_be_saved_are_named_with_their_place(
    model: Any, place: str, what: str, tmp_path: Path
) -> None:
    with pytest.raises(UnsavableError, match=f"^{re.escape(place)}.*({what}).*; ") as caught:
        save(model, tmp_path / "model.mercer")
    assert len(str(caught.value)) < 1000
    assert not list(tmp_path.iterdir())


def test_a_failure_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.mercer"
    save(mercer.Ridge(alpha=2.0), path)
    with pytest.raises(UnsavableError):
        save(mercer.SVC(callback=print), path)

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(WriteError, match="no space left"):
        save(mercer.Ridge(alpha=3.0), path)
    assert load(path).alpha == 2.0
    assert [found.name for found in tmp_path.iterdir()] == ["model.mercer"]


def test_files_are_reproducible(tmp_path: Path) -> None:
    model = mercer.NaiveBayes().fit(frame().X[["age", "city"]], frame().y)
    for name in ("one", "two", "three"):
        save(model if name != "three" else load(tmp_path / "two"), tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes() == (tmp_path / "three").read_bytes()


def test_safetensors_itself_reads_the_arrays(tmp_path: Path) -> None:
    model = mercer.LogisticRegression().fit(numbers().X, numbers().y)
    save(model, tmp_path / "model.mercer")
    with safe_open(tmp_path / "model.mercer", framework="numpy") as file:
        assert file.metadata()["format"] == "mercer"
        arrays = [file.get_tensor(name) for name in file.keys()]  # noqa: SIM118
    assert any(np.array_equal(array, model.classes_.view(np.uint32).reshape(3, 3)) for array in arrays)
    assert any(np.array_equal(array.T, model.coef_) for array in arrays)  # it lies column by column


def test_caches_are_not_saved(tmp_path: Path) -> None:
    model = mercer.GaussianDiscriminant().fit(numbers().X, numbers().y)
    save(model, tmp_path / "before")
    model.predict_proba(numbers().X)
    save(model, tmp_path / "after")
    assert (tmp_path / "before").read_bytes() == (tmp_path / "after").read_bytes()


def test_a_file_is_described_without_loading_it(tmp_path: Path) -> None:
    model = make_pipeline(mercer.TableFeatures(), mercer.LogisticRegression()).fit(frame().X, frame().y)
    save(model, tmp_path / "model.mercer")
    found = describe(tmp_path / "model.mercer")
    assert (found.model, found.steps) == ("Pipeline", ("TableFeatures", "LogisticRegression"))
    assert found.columns == tuple(frame().X.columns)
    assert (found.n_columns, found.classes) == (6, ("no", "yes"))
    assert (found.version, found.mercer) == (1, mercer.__version__)
    assert found.size == (tmp_path / "model.mercer").stat().st_size


def test_an_unfitted_model_is_described(tmp_path: Path) -> None:
    save(mercer.SVC(C=3.0), tmp_path / "model.mercer")
    assert describe(tmp_path / "model.mercer")[:5] == ("SVC", (), None, None, None)
    assert load(tmp_path / "model.mercer").get_params() == mercer.SVC(C=3.0).get_params()


def test_a_loaded_model_can_learn_merge_and_forget(tmp_path: Path) -> None:
    X, y = numbers().X, numbers().y
    save(mercer.GaussianNB().fit(X[:20], y[:20]), tmp_path / "model.mercer")
    fresh = mercer.GaussianNB().fit(X[:20], y[:20]).partial_fit(X[20:], y[20:]).forget(X[:5], y[:5])
    loaded = load(tmp_path / "model.mercer").partial_fit(X[20:], y[20:]).forget(X[:5], y[:5])
    np.testing.assert_array_equal(loaded.theta_, fresh.theta_)
    merged = load(tmp_path / "model.mercer").merge(mercer.GaussianNB().fit(X[20:], y[20:]))
    np.testing.assert_allclose(merged.theta_, mercer.GaussianNB().fit(X, y).theta_, rtol=1e-12)


def test_a_loaded_vectorizer_has_its_vocabulary(tmp_path: Path) -> None:
    model = mercer.CountVectorizer().fit(words().X)
    model.vocabulary_  # noqa: B018 - makes the dict, which is not saved
    assert again(model, tmp_path).vocabulary_ == model.vocabulary_


def test_a_loaded_model_has_a_summary(tmp_path: Path) -> None:
    X, y = numbers().X, numbers().X @ [1.0, 2.0, 3.0] + np.sin(np.arange(45.0))
    model = mercer.GLM().fit(X, y)
    assert str(mercer.summary(again(model, tmp_path), X, y)) == str(mercer.summary(model, X, y))
