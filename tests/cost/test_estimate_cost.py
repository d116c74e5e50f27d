"""The cost of a fit, with counted operations and fixed speeds."""

from __future__ import annotations

import importlib

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from mercer import (
    GLM,
    SVC,
    GaussianNB,
    KernelBayes,
    KernelDensity,
    KernelRidge,
    LocalLinear,
    LogisticRegression,
    NadarayaWatson,
    NadarayaWatsonClassifier,
    Nystroem,
    Perceptron,
    RandomFourierFeatures,
    Ridge,
    estimate_cost,
    kernelize,
    kernels,
)
from mercer._errors import DataError, DeviceError, TooLargeError
from mercer._threads import thread_count
from mercer.cost.work import LANDMARK_DECOMPOSITIONS, work_of
from mercer.data.sources.memory import MemorySource
from mercer.density import Epanechnikov, LeastSquaresCV


@pytest.fixture(autouse=True)
def _machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with 1 Gflop/s, 1 GB/s, 10⁸ kernel entries/s, and 1 GB of memory."""
    file = importlib.import_module("mercer.cost._estimate")
    monkeypatch.setattr(file, "flops_per_second", lambda threads: 1e9)
    monkeypatch.setattr(file, "bytes_per_second", lambda threads: 1e9)
    monkeypatch.setattr(file, "entries_per_second", lambda kernel, X: 1e8)
    monkeypatch.setattr(file, "available_bytes", lambda: 10**9)


def rows(n: int, d: int = 3) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(n, d))


def test_few_rows_take_a_cholesky_factor() -> None:
    cost = estimate_cost(KernelRidge(kernel="rbf"), rows(1000))
    assert cost.bytes == 8e6
    assert cost.seconds == pytest.approx(1e9 / 3 / 1e9 + 1.5e6 / 1e8)
    assert cost.fits
    assert str(cost) == cost.sentence
    assert "KernelRidge on 1,000 rows: about 0.35 s and 0.008 GB" in cost.sentence


def test_many_rows_take_steps_unless_alpha_is_small() -> None:
    X = rows(10_000, 5)
    assert "conjugate gradients" in work_of(KernelRidge(1.0, kernel="rbf"), X).path
    assert "Cholesky" in work_of(KernelRidge(1e-9, kernel="laplacian"), X).path
    assert "Cholesky" in work_of(KernelRidge(kernel=lambda x, z: x @ z), X).path


def test_a_choice_takes_a_decomposition_for_each_width() -> None:
    X = rows(500)
    one, three, seven = (
        estimate_cost(KernelRidge("loo", kernel="rbf", gamma=gamma), X) for gamma in (None, [1, 2, 3], "loo")
    )
    assert three.seconds == pytest.approx(3 * one.seconds)
    assert seven.seconds == pytest.approx(7 * one.seconds)
    assert one.bytes == three.bytes


def leave(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """Set the available memory in all modules that read it."""
    modules = (
        "_memory",
        "cost.work",
        "cost._estimate",
        "optim.span.ridge",
        "optim.span.steps",
    )
    for module in modules:
        monkeypatch.setattr(importlib.import_module(f"mercer.{module}"), "available_bytes", lambda: size)


def test_fits_beyond_memory_are_reported_and_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.broadcast_to(np.zeros(2), (100_000, 2))
    leave(monkeypatch, 10**7)
    for model in (KernelRidge(kernel="rbf"), KernelRidge(0.0, kernel="rbf")):
        cost = estimate_cost(model, X)
        assert not cost.fits
        assert "Nyström" in cost.sentence
        with pytest.raises(TooLargeError, match="100,000 rows"):
            model.fit(X, np.zeros(len(X)))


def test_rows_whose_matrix_does_not_fit_take_steps_that_recompute_it(monkeypatch: pytest.MonkeyPatch) -> None:
    leave(monkeypatch, 10**9)
    cost = estimate_cost(KernelRidge(kernel="rbf"), rows(100_000))
    assert cost.fits
    assert cost.bytes <= 10**9
    assert "% of the kernel matrix made again in each" in cost.sentence
    assert cost.seconds > 5 * 100_000**2 / 2 / 1e8


def test_few_features_need_no_kernel_matrix() -> None:
    cost = estimate_cost(KernelRidge(), np.broadcast_to(np.zeros(2), (100_000, 2)))
    assert cost.fits
    assert "2 features of the kernel" in cost.sentence


@pytest.mark.parametrize("model", [SVC(), GLM(kernel="rbf"), Ridge(), KernelRidge(kernel="precomputed")], ids=str)
def test_more_rows_cost_more(model: object) -> None:
    few, many = (estimate_cost(model, rows(n, n if "precomputed" in repr(model) else 3)) for n in (200, 2000))
    assert 0 < few.seconds < many.seconds
    assert 0 < few.bytes <= many.bytes


def test_frames_are_accepted() -> None:
    X = rows(50)
    model = KernelRidge(kernel="rbf", gamma="median")
    assert estimate_cost(model, pd.DataFrame(X)).bytes == estimate_cost(model, X).bytes


@pytest.mark.parametrize(
    ("model", "X", "sentence"), [(3, rows(5), "estimator"), (Ridge, rows(5), "estimator"), (Ridge(), 3, "rows")]
)
def test_invalid_models_and_rows_are_rejected(model: object, X: object, sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        estimate_cost(model, X)


def test_a_kernel_machine_needs_few_factorisations_and_a_perceptron_none() -> None:
    X, cubes = rows(1000), 1000.0**3
    newton = work_of(kernelize(LogisticRegression(), "rbf"), X)
    assert cubes / 3 <= newton.flops <= cubes
    learning = work_of(kernelize(Perceptron(), "rbf"), X)
    assert (learning.flops, learning.memory) == (0.0, 8e6)


def test_lists_of_rows_and_of_texts_are_accepted() -> None:
    assert estimate_cost(Ridge(), [[1.0, 2.0]] * 10).bytes == estimate_cost(Ridge(), np.ones((10, 2))).bytes
    assert estimate_cost(KernelRidge(kernel=kernels.Spectrum(2)), ["ab", "cd", "ef"]).bytes == 72


@pytest.mark.parametrize("approximate", ["nystroem", "fourier"])
def test_approximate_models_are_not_advised_to_approximate(monkeypatch: pytest.MonkeyPatch, approximate: str) -> None:
    leave(monkeypatch, 10**6)
    for model in (KernelRidge(kernel="rbf"), GLM(kernel="rbf"), SVC()):
        cost = estimate_cost(model.set_params(approximate=approximate), rows(20_000))
        assert not cost.fits
        assert "fewer features" in cost.sentence
        assert "Nystroem before a linear model" not in cost.sentence
    assert "fewer columns" in estimate_cost(Ridge(), rows(100_000)).sentence


def test_frequencies_are_drawn_and_take_no_decomposition() -> None:
    X, M = rows(30_000), 1000.0
    uniform, fourier = Nystroem(n_components=1000), RandomFourierFeatures(n_components=1000)
    for model in (KernelRidge(kernel="rbf"), GLM(kernel="rbf"), SVC(), KernelRidge("loo", kernel="rbf")):
        landmarks, drawn = (
            work_of(clone(model).set_params(approximate=transformer), X) for transformer in (uniform, fourier)
        )
        assert landmarks.flops - drawn.flops == pytest.approx(LANDMARK_DECOMPOSITIONS * M**3)


@pytest.mark.parametrize("n", [300, 20_000])
def test_auto_counts_an_exact_fit_once(monkeypatch: pytest.MonkeyPatch, n: int) -> None:
    file, X, exact = importlib.import_module("mercer.cost._estimate"), rows(n), []
    monkeypatch.setattr(file, "work_of", lambda model, X: exact.append(model.approximate) or work_of(model, X))
    model = GLM(kernel="rbf", approximate="auto")
    cost = estimate_cost(model, X)
    few = n < 1000
    assert exact == ([None] if few else [None, "nystroem"])
    assert ("features" in cost.sentence) is not few
    assert model.approximate == "auto"


def test_tensors_in_main_memory_cost_the_same_as_arrays() -> None:
    torch = pytest.importorskip("torch")
    X, model = rows(500), KernelRidge(kernel="rbf", approximate="auto")
    assert estimate_cost(model, torch.as_tensor(X)) == estimate_cost(model, X)
    with pytest.raises(DeviceError, match=r"X\.cpu"):
        estimate_cost(model, torch.empty((5, 2), device="meta"))


def test_a_source_is_estimated_by_its_first_chunk():
    X, y = np.random.default_rng(0).normal(size=(900, 3)), np.arange(900) % 2
    cost = estimate_cost(GaussianNB(), MemorySource(X, y, rows=100))
    assert cost.seconds > 0
    assert cost.bytes == (thread_count() + 2) * 100 * 3 * 8
    assert "1 pass over 900 rows in memory" in cost.sentence
    assert cost.fits


@pytest.mark.parametrize(
    ("model", "path"),
    [
        (KernelDensity(), "a kernel around each row"),
        (KernelDensity(kernel="linear", bandwidth=0.1), "a kernel around each row"),
        (KernelBayes("epanechnikov"), "a kernel around each row"),
        (KernelDensity(bandwidth="plugin"), "integrals over pairs"),
        (KernelDensity(bandwidth=LeastSquaresCV()), "cross-validation"),
        (KernelBayes(bandwidth="likelihood-cv"), "cross-validation"),
        (NadarayaWatson(), "leaving rows out"),
        (NadarayaWatsonClassifier(kernel=Epanechnikov()), "leaving rows out"),
        (LocalLinear(bandwidth=0.3), "a kernel around each row"),
    ],
    ids=str,
)
def test_smoothing_kernels_need_no_matrix(model: object, path: str) -> None:
    few, many = (work_of(model, rows(n)) for n in (500, 20_000))
    assert path in few.path
    assert few.flops <= many.flops
    assert many.memory == 2 * 8 * 20_000 * 3
    assert estimate_cost(model, rows(500)).seconds > 0


def test_widths_are_chosen_on_a_sample_of_many_rows() -> None:
    """Otherwise 40 times the rows would take 1600 times as long."""
    few, many = (work_of(NadarayaWatson(), rows(n)).flops for n in (1000, 40_000))
    assert few < many < 100 * few


def test_features_alone_are_estimated_without_a_model() -> None:
    X = rows(20_000)
    for features, landmarks in ((Nystroem(n_components=300), 300), (RandomFourierFeatures(n_components=300), 0)):
        work = work_of(features, X)
        assert work.entries == landmarks**2
        assert work.memory < 1e8
    chosen = work_of(Nystroem(n_components=300, landmarks="rpcholesky"), X)
    assert chosen.entries > 300**2
