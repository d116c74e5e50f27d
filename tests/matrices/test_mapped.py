"""Mapped rows: products by tiles agree with explicit features."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from mercer.kernel_approximation.fourier import FourierMap
from mercer.kernel_approximation.nystroem_map import NystroemMap
from mercer.kernels import RBF, Laplacian, Polynomial, Spectrum
from mercer.matrices.mapped import KeptTiles, MappedMatrix, TileOptions
from mercer.optim.span.losses import DiagonalCurvature, SoftmaxCurvature

RNG = np.random.default_rng(0)
X = RNG.normal(size=(700, 3))
KERNEL = RBF(gamma=0.3)
NYSTROEM = NystroemMap.of(KERNEL, X[:40])
FOURIER = FourierMap.draw(KERNEL.spectrum(3), 60, np.random.default_rng(0))
MAPS = {"nystroem": NYSTROEM, "fourier": FOURIER}


def written_out(map: Any, *, intercept: bool = True) -> Any:
    Z = map(X)
    return np.column_stack([Z, np.ones(len(Z))]) if intercept else Z


@pytest.fixture(params=MAPS)
def design(request: pytest.FixtureRequest) -> tuple[MappedMatrix, Any]:
    map = MAPS[request.param]
    return MappedMatrix(map.tiles(X), map.back), written_out(map)


def with_options(design: MappedMatrix, **options: float) -> MappedMatrix:
    return replace(design, options=TileOptions(**options))  # type: ignore[arg-type]


def close(a: Any, b: Any, error: float) -> None:
    np.testing.assert_allclose(a, b, rtol=0, atol=error * np.abs(b).max())


def in_memory(design: MappedMatrix) -> MappedMatrix:
    return design.swept_and_kept(np.zeros((design.n_columns, 1)), lambda rows, eta: eta)[0]


def test_products_agree_with_explicit_features(design: Any) -> None:
    mapped_rows, Z = design
    w = RNG.normal(size=(Z.shape[1], 2))
    h = RNG.uniform(0.1, 1, size=(len(Z), 2))
    close(mapped_rows.matvec(w), Z @ w, 1e-10)
    eta, moved = mapped_rows.swept(w, lambda rows, eta: np.tanh(eta) * h[rows])
    close(eta, Z @ w, 1e-10)
    close(moved, Z.T @ (np.tanh(Z @ w) * h), 1e-10)
    close(mapped_rows.curved(DiagonalCurvature(h), w), Z.T @ (h * (Z @ w)), 1e-10)
    close(mapped_rows.gram(h[:, 0]), Z.T @ (h[:, :1] * Z), 1e-10)


def test_without_an_intercept_there_is_no_column_of_ones() -> None:
    plain, Z = MappedMatrix(NYSTROEM.tiles(X), NYSTROEM.back, intercept=False), written_out(NYSTROEM, intercept=False)
    w = RNG.normal(size=(Z.shape[1], 1))
    assert plain.n_columns == plain.n_features == Z.shape[1]
    close(plain.matvec(w), Z @ w, 1e-10)
    close(plain.gram(np.ones(len(Z))), Z.T @ Z, 1e-10)


@pytest.mark.parametrize("kept", [False, True])
def test_products_by_rough_tiles_are_close(design: Any, kept: bool) -> None:
    mapped_rows, Z = with_options(design[0], single_from=0), design[1]
    assert mapped_rows.rough == np.float32
    mapped_rows = in_memory(mapped_rows) if kept else mapped_rows
    assert isinstance(mapped_rows.tiles, KeptTiles) == kept
    for outputs in (1, 3):
        w, h = RNG.normal(size=(Z.shape[1], outputs)), RNG.uniform(0.1, 1, size=(len(Z), outputs))
        close(mapped_rows.curved(DiagonalCurvature(h), w), Z.T @ (h * (Z @ w)), 1e-3)
        close(mapped_rows.curved(DiagonalCurvature(h), w, exactly=True), Z.T @ (h * (Z @ w)), 1e-10)
        close(mapped_rows.matvec(w), Z @ w, 1e-10)
    close(mapped_rows.gram(h[:, 0]), Z.T @ (h[:, :1] * Z), 1e-3)
    close(mapped_rows.gram(h[:, 0], exactly=True), Z.T @ (h[:, :1] * Z), 1e-10)


def test_the_curvature_of_classes_mixes_outputs(design: Any) -> None:
    mapped_rows, Z = design
    p = RNG.dirichlet(np.ones(3), size=len(Z))
    bend, w = SoftmaxCurvature(p, None, symmetric=True), RNG.normal(size=(Z.shape[1], 3))
    close(mapped_rows.curved(bend, w), Z.T @ bend.matvec(Z @ w), 1e-10)


@pytest.mark.parametrize("rough", [False, True])
@pytest.mark.parametrize("kept", [False, True])
def test_rows_are_selected_by_number(design: Any, rough: bool, kept: bool) -> None:
    mapped_rows, Z = with_options(design[0], single_from=0 if rough else np.inf), design[1]
    mapped_rows = in_memory(mapped_rows) if kept else mapped_rows
    some = np.sort(RNG.choice(len(Z), 90, replace=False))
    h, w = RNG.uniform(0.1, 1, size=90), RNG.normal(size=(Z.shape[1], 1))
    close(mapped_rows.take(some).matvec(w), Z[some] @ w, 1e-10)
    wanted = Z[some].T @ (h[:, None] * Z[some])
    close(mapped_rows.gram(h, some), wanted, 1e-3 if rough else 1e-10)
    close(mapped_rows.gram(h, some, exactly=True), wanted, 1e-10)


def test_rows_selected_from_stored_float32_tiles_are_correct(design: Any) -> None:
    """A sample so small that it is computed in float64, though the tiles in memory are of float32."""
    mapped_rows, Z = with_options(design[0], single_from=0), design[1]
    kept = with_options(in_memory(mapped_rows), single_from=np.inf)
    part = kept.take(np.arange(300, 700))
    assert part.rough == np.float64
    some = np.arange(200, 400)
    close(part.gram(np.ones(200), some), Z[500:].T @ Z[500:], 1e-10)


def test_ill_conditioned_landmarks_keep_the_digits_of_the_square() -> None:
    """The kernel matrix of 200 landmarks on a line has about 20 eigenvalues above rounding."""
    line = np.linspace(0, 1, 300)[:, None]
    map = NystroemMap.of(RBF(gamma=1.0), line[:200])
    Z = map(line)
    square = MappedMatrix(map.tiles(line), map.back, intercept=False).gram(np.ones(300), exactly=True)
    close(square, Z.T @ Z, 1e-12)
    assert np.linalg.eigvalsh(square)[0] > -1e-12 * 300


def test_rows_may_be_sparse_of_float32_or_texts() -> None:
    for rows in (sparse.csr_matrix(X), X.astype(np.float32), np.asfortranarray(X)):
        landmarks = rows[:30]
        for kernel in (KERNEL, Polynomial(2), Laplacian()):
            if sparse.issparse(rows) and isinstance(kernel, Laplacian):
                continue
            map = NystroemMap.of(kernel, landmarks)
            w = RNG.normal(size=(map.n_features, 1))
            found = in_memory(MappedMatrix(map.tiles(rows), map.back, intercept=False)).matvec(w)
            close(found, map(rows) @ w, 1e-4)
    texts = ["abab", "abba", "baab", "bbbb", "aaab", "abbb"]
    map = NystroemMap.of(Spectrum(2), texts[:3])
    design = MappedMatrix(map.tiles(texts), map.back, intercept=False)
    close(design.matvec(np.ones((map.n_features, 1))), map(texts).sum(axis=1)[:, None], 1e-10)
    assert design.take(np.array([4, 5])).n_rows == 2


def test_tiles_are_kept_if_memory_permits(design: Any) -> None:
    mapped_rows, Z = design
    kept = in_memory(mapped_rows)
    assert isinstance(kept.tiles, KeptTiles)
    assert in_memory(kept) is kept
    t = kept.tiles.kept.astype(float)
    close(kept.tiles.squares, (t**2).sum(axis=1), 1e-5)
    close(kept.tiles.take(np.array([5, 3])).squares, (t[[5, 3]] ** 2).sum(axis=1), 1e-5)
    w = RNG.normal(size=(Z.shape[1], 1))
    close(kept.swept(w, lambda rows, eta: eta)[1], Z.T @ (Z @ w), 1e-10)
    no_room = with_options(mapped_rows, stored_share=0.0)
    assert in_memory(no_room) is no_room


@pytest.mark.parametrize("room", [0.25, 0.0])
def test_the_pass_that_keeps_tiles_is_a_sweep(design: Any, room: float) -> None:
    mapped_rows, Z = with_options(design[0], single_from=0, stored_share=room), design[1]
    w = RNG.normal(size=(Z.shape[1], 2))
    kept, (eta, moved) = mapped_rows.swept_and_kept(w, lambda rows, eta: np.tanh(eta))
    assert isinstance(kept.tiles, KeptTiles) == (room > 0)
    close(eta, Z @ w, 1e-3)
    close(moved, Z.T @ np.tanh(Z @ w), 1e-3)
    close(kept.curved(DiagonalCurvature(np.ones((len(Z), 1))), w[:, :1]), Z.T @ (Z @ w[:, :1]), 1e-3)
