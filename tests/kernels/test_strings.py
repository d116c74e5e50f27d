"""Kernels of texts: known answers by counting and by listing all places, and the laws."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import mercer
from mercer import kernels as k
from mercer._errors import ColumnTypeError, DataError, KernelError, NoFeatureMapError, NonFiniteError
from mercer.kernels._counting import CountSide
from mercer.kernels._strings import check_overflow
from mercer.testing import check_kernel
from tests.kernels._compositions import compositions
from tests.kernels._ridge import Ridge

TEXTS = ["banana", "bandana", "ananas", "a", "", "Anna", "nabob", "𝔹an", "ana"]
LETTERS = st.text(alphabet="abc", max_size=8)


def counted(s: Sequence[Any], t: Sequence[Any], length: int) -> int:
    one, two = (Counter(tuple(x[i : i + length]) for i in range(len(x) - length + 1)) for x in (s, t))
    return sum(count * two[u] for u, count in one.items())


def listed(s: Sequence[Any], t: Sequence[Any], length: int, decay: float) -> float:
    """Over all places of a subsequence in s and of the same one in t."""
    return sum(
        decay ** (i[-1] - i[0] + 1 + j[-1] - j[0] + 1)
        for i in combinations(range(len(s)), length)
        for j in combinations(range(len(t)), length)
        if all(s[a] == t[b] for a, b in zip(i, j, strict=True))
    )


@settings(max_examples=60)
@given(
    X=st.lists(LETTERS, min_size=1, max_size=6), Z=st.lists(LETTERS, min_size=1, max_size=6), length=st.integers(1, 4)
)
def test_a_spectrum_counts_substrings(X: list[str], Z: list[str], length: int) -> None:
    expected = [[counted(s, t, length) for t in Z] for s in X]
    np.testing.assert_array_equal(k.Spectrum(length)(X, Z), expected)
    np.testing.assert_array_equal(k.Spectrum(length).diag(X), [counted(s, s, length) for s in X])


@settings(max_examples=60)
@given(s=LETTERS, t=LETTERS, length=st.integers(1, 4), decay=st.floats(0.01, 1))
def test_a_subsequence_kernel_adds_over_all_places(s: str, t: str, length: int, decay: float) -> None:
    kernel = k.Subsequence(length, decay)
    np.testing.assert_allclose(kernel([s], [t]), [[listed(s, t, length, decay)]], rtol=1e-12)
    np.testing.assert_allclose(kernel.diag([s]), [listed(s, s, length, decay)], rtol=1e-12)


@pytest.mark.parametrize("decay", [0.3, 0.5, 1.0])
def test_the_example_of_lodhi_and_others(decay: float) -> None:
    kernel = k.Subsequence(2, decay)
    np.testing.assert_allclose(kernel(["cat"], ["car"]), decay**4, rtol=1e-14)
    np.testing.assert_allclose(kernel.diag(["cat"]), 2 * decay**4 + decay**6, rtol=1e-14)
    np.testing.assert_allclose(kernel.normalised()(["cat"], ["car"]), 1 / (2 + decay**2), rtol=1e-14)
    np.testing.assert_array_equal(kernel(["cat"], ["bar", "bat"]), [[0.0, decay**4]])


def test_without_gaps_both_kernels_of_length_one_count_letters() -> None:
    np.testing.assert_allclose(k.Subsequence(1, 1.0)(TEXTS), k.Spectrum(1)(TEXTS), rtol=1e-14)
    np.testing.assert_allclose(k.Subsequence(1, 0.5)(TEXTS), k.Spectrum(1)(TEXTS) / 4, rtol=1e-14)


@pytest.mark.compiled("takes minutes as plain Python")
def test_long_texts_keep_their_digits() -> None:
    """Without decay every pair of places counts: C(n, p)² for texts of one letter."""
    s = "a" * 300
    np.testing.assert_allclose(
        k.Subsequence(5, 1.0).diag([s]), float(300 * 299 * 298 * 297 * 296 // 120) ** 2, rtol=1e-12
    )
    np.testing.assert_array_equal(k.Spectrum(3).diag([s * 20]), [5998.0**2])


ATOMS = [k.Spectrum(1), k.Spectrum(2), k.Subsequence(1), k.Subsequence(2, 0.3), k.OneDimensional(len), k.Constant(2.0)]


@settings(max_examples=50)
@given(kernel=compositions(ATOMS), X=st.lists(LETTERS, min_size=1, max_size=12))
def test_random_compositions_obey_the_laws(kernel: k.Kernel, X: list[str]) -> None:
    assert "the matrix is positive semidefinite" in check_kernel(k.Spectrum(2) + kernel, X)
    assert k.check_positive_definite(kernel, X).kind == "by construction"


@pytest.mark.parametrize(
    "kernel",
    [
        k.Spectrum(2),
        k.Spectrum(2) + k.Spectrum(3),
        (2 * k.Spectrum(2) + 1).normalised(),
        k.Spectrum(1) * k.Spectrum(2),
        k.Spectrum(1) ** 2,
        k.Spectrum(2).normalised() + k.OneDimensional(len),
        k.Spectrum(2).of(str.lower),
    ],
    ids=repr,
)
def test_written_out_features_give_the_kernel(kernel: k.Kernel) -> None:
    assert "⟨ψ(x), ψ(z)⟩ is the kernel where ψ is finite" in check_kernel(kernel, TEXTS)


@pytest.mark.compiled("takes minutes as plain Python")
def test_many_texts_make_many_tiles() -> None:
    rng = np.random.default_rng(0)
    X = ["".join(rng.choice(list("ab"), rng.integers(0, 12))) for _ in range(700)]
    for kernel in (k.Spectrum(3), k.Subsequence(2).normalised(), k.Spectrum(2).normalised() + k.Subsequence(2)):
        K = kernel(X)
        np.testing.assert_allclose(K[650:, :30], kernel(X[650:], X[:30]), rtol=1e-12)
        np.testing.assert_allclose(k.Gram(kernel, X).rows([3, 699, 5]), K[[3, 699, 5]], rtol=1e-12)
        with mercer.engine(threads=1):
            np.testing.assert_array_equal(kernel(X), K)


def test_few_texts_against_many() -> None:
    X = ["".join(np.random.default_rng(i).choice(list("ab"), i % 9)) for i in range(90)]
    kernel = k.Subsequence(2)
    np.testing.assert_array_equal(kernel(X, X[:3]), kernel(X)[:, :3])
    np.testing.assert_array_equal(kernel(X[:3], X), kernel(X)[:3])


def test_counts_too_large_for_float32_stay_exact() -> None:
    X = ["ab" * 5000, "ab" * 4999 + "b", "b"]
    expected = [[counted(s, t, 1) for t in X] for s in X]
    np.testing.assert_array_equal(k.Spectrum(1)(X), expected)


def test_not_all_frequent_columns_are_dense() -> None:
    X = ["".join(np.random.default_rng(i).choice(list("abc"), 30)) for i in range(40)]
    expected = k.Spectrum(2)(X)
    vocabulary, counts = k.Spectrum(2).learn(X)
    for most in (1, 5, 8, 9):
        side = CountSide.of(counts, vocabulary, max_dense_columns=most)
        assert side.dense.shape[1] <= most
        np.testing.assert_array_equal(k.Spectrum(2).tile(side, side, None), expected)


# What rows may be.


@pytest.mark.parametrize("kernel", [k.Spectrum(2), k.Subsequence(2)], ids=repr)
@pytest.mark.parametrize(
    "given",
    [
        lambda texts: np.array(texts),
        lambda texts: np.array(texts, dtype=object),
        lambda texts: np.array(texts, dtype=object)[:, None],
        tuple,
        lambda texts: [text.encode() for text in texts],
        lambda texts: [list(text) for text in texts],
        lambda texts: [[ord(letter) for letter in text] for text in texts],
        lambda texts: [np.array([ord(letter) for letter in text], dtype=np.int16) for text in texts],
    ],
    ids=["array", "objects", "column", "tuple", "bytes", "letters", "numbers", "arrays"],
)
def test_neither_the_container_nor_the_symbols_matter(kernel: k.Kernel, given: Callable[[list[str]], Any]) -> None:
    X, Z = ["banana", "ananas", ""], ["bandana", "x", "banana"]
    np.testing.assert_array_equal(kernel(given(X), given(Z)), kernel(X, Z))
    np.testing.assert_array_equal(kernel(given(X)), kernel(X))


def test_columns_of_frames() -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    expected = k.Spectrum(2)(TEXTS)
    for column in (pandas.Series(TEXTS), pandas.DataFrame({"text": TEXTS}), polars.Series(TEXTS)):
        np.testing.assert_array_equal(k.Spectrum(2)(column), expected)


def test_words_are_symbols_and_so_are_tuples() -> None:
    X = [["to", "be", "or", "not", "to", "be"], ["to", "be"]]
    np.testing.assert_array_equal(k.Spectrum(2)(X), [[7, 2], [2, 1]])
    np.testing.assert_array_equal(k.Spectrum(1)([[("c", 4), ("e", 4)]], [[("c", 4), ("c", 5)]]), [[1]])
    np.testing.assert_array_equal(k.Spectrum(1)(np.array([[1, 2, 2], [2, 2, 2]])), [[5, 6], [6, 9]])


def test_short_texts_have_kernel_zero_with_all_texts() -> None:
    for kernel in (k.Spectrum(3), k.Subsequence(3), k.Spectrum(3).normalised(), k.Subsequence(3).normalised()):
        np.testing.assert_array_equal(kernel(["", "ab", "abc"])[:2], np.zeros((2, 3)))


def test_no_rows() -> None:
    for kernel in (k.Spectrum(2), k.Subsequence(2).normalised()):
        assert kernel([], ["a"]).shape == (0, 1)
        assert kernel(["a"], []).shape == (1, 0)


@pytest.mark.parametrize("kernel", [k.Spectrum(2), k.Subsequence(2), k.Spectrum(2) + 1], ids=repr)
@pytest.mark.parametrize(
    ("rows", "error", "message"),
    [
        (["a", None], NonFiniteError, "None in row 1"),
        (["a", float("nan")], NonFiniteError, "nan in row 1"),
        ([1, 2], ColumnTypeError, "row 0 is 1"),
        (np.array([1.0, 2.0]), ColumnTypeError, "row 0 is"),
        ([[0.5, 1.0]], ColumnTypeError, "0.5 is not a symbol"),
        ([["a", None]], NonFiniteError, "the symbol None"),
        ([["a", ["b"]]], ColumnTypeError, "is not a symbol"),
        ("banana", DataError, "one text"),
        (7, ColumnTypeError, "where texts"),
        (["a", b"a"], ColumnTypeError, "row 1 is made of bytes"),
        ([{"a": 1}], ColumnTypeError, "row 0 is"),
    ],
    ids=str,
)
def test_input_that_is_not_text_is_rejected(kernel: k.Kernel, rows: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        kernel(rows)


@pytest.mark.compiled("takes minutes as plain Python")
def test_numbers_of_subsequences_that_overflow_are_rejected() -> None:
    kernel = k.Subsequence(200, 1.0)
    for call in (kernel.diag, lambda X: kernel(X, X)):
        with pytest.raises(DataError, match="overflows float64"):
            call(["a" * 600])


def test_values_that_overflow_are_rejected() -> None:
    """Repeat the previous test without the minutes that such texts take uncompiled."""
    kernel, values = k.Subsequence(2), np.array([1.0, 2.0])
    assert check_overflow(kernel, values) is values
    with pytest.raises(DataError, match="overflows float64"):
        check_overflow(kernel, np.array([1.0, np.inf]))


def test_texts_and_bytes_are_not_compared() -> None:
    for kernel in (k.Spectrum(1), k.Subsequence(1)):
        with pytest.raises(ColumnTypeError, match="bytes"):
            kernel([b"a"], ["a"])


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: k.Spectrum(0),
        lambda: k.Spectrum(-1),
        lambda: k.Spectrum(1.5),
        lambda: k.Spectrum("2"),
        lambda: k.Subsequence(0),
        lambda: k.Subsequence(2, 0.0),
        lambda: k.Subsequence(2, -0.5),
        lambda: k.Subsequence(2, 1.5),
        lambda: k.Subsequence(2, float("nan")),
        lambda: k.Subsequence(2, "half"),
    ],
)
def test_parameters_out_of_range_are_rejected(wrong: Callable[[], k.Kernel]) -> None:
    with pytest.raises(KernelError):
        wrong()


# A kernel is a value, inside estimators too.


def test_kernels_are_compared_by_value() -> None:
    kernel = k.Spectrum(2) + 0.5 * k.Subsequence(3, 0.3)
    assert repr(kernel) == "Spectrum(length=2) + 0.5 * Subsequence(length=3, decay=0.3)"
    assert pickle.loads(pickle.dumps(kernel)) == kernel
    assert hash(k.Spectrum(2)) == hash(k.Spectrum(2.0))
    assert kernel.replaced(k1__length=4, k2__kernel__decay=1) == k.Spectrum(4) + 0.5 * k.Subsequence(3, 1.0)
    assert k.kernel_from("spectrum", length=2) == k.Spectrum(2)
    assert k.kernel_from("subsequence", decay=0.1, gamma=3) == k.Subsequence(decay=0.1)


def test_numeric_kernels_are_marked() -> None:
    assert k.RBF().numeric
    assert (k.RBF().on([0]) + 2).normalised().numeric
    assert not k.Spectrum().numeric
    assert not (2 * k.Subsequence() * k.OneDimensional(len) + 1).normalised().numeric
    assert not k.Spectrum().of(str.lower).numeric


def test_searches_find_the_length() -> None:
    rng = np.random.default_rng(0)
    X = ["".join(rng.choice(list("ab"), 12)) for _ in range(80)]
    y = np.array([counted(text, "aba", 3) for text in X], dtype=float)
    search = GridSearchCV(Ridge(k.Spectrum()), {"kernel__length": [1, 2, 3]}, cv=4).fit(X, y)
    assert search.best_params_ == {"kernel__length": 3}
    assert search.best_score_ > 0.95
    assert clone(Ridge(k.Subsequence())).set_params(kernel__decay=0.2).kernel == k.Subsequence(decay=0.2)


# Features written out.


def test_features_are_named_and_unknown_ones_have_no_column() -> None:
    features = k.Spectrum(2).feature_map(["banana", "nab"])
    assert features.names == ["ba", "an", "na", "ab"]
    assert features.n_features == 4
    np.testing.assert_array_equal(features(["banana", "xx", "nabbab"]).toarray(), [[1, 2, 2, 0], [0] * 4, [1, 0, 1, 2]])
    assert k.Spectrum(2).feature_map([b"ab"]).names == [b"ab"]
    assert pickle.loads(pickle.dumps(features)).names == features.names


def test_unknown_substrings_count_for_the_length_of_a_row() -> None:
    kernel = k.Spectrum(2).normalised()
    np.testing.assert_allclose(kernel(["abxyz"], ["ab"]), [[0.5]])


def test_linear_models_accept_the_features() -> None:
    rng = np.random.default_rng(1)
    X = ["".join(rng.choice(list("abcd"), 30)) for _ in range(200)]
    y = np.array(["ab" in text for text in X])
    features = k.Spectrum(2).feature_map(X[:100])
    model = make_pipeline(FunctionTransformer(features), LogisticRegression(C=100)).fit(X[:100], y[:100])
    assert model.score(X[100:], y[100:]) > 0.95
    assert features.names[int(np.argmax(model[-1].coef_))] == "ab"


def test_features_of_subsequences_are_not_written_out() -> None:
    with pytest.raises(NoFeatureMapError):
        k.Subsequence(2).feature_map(TEXTS)


# A table with texts among its columns.


def table() -> np.ndarray:
    return np.array([["banana", 1.0, 2.0], ["ananas", 0.5, 2.5], ["", 0.0, 1.0], ["nab", 3.0, 0.0]], dtype=object)


def test_a_kernel_for_each_kind_of_column() -> None:
    pandas = pytest.importorskip("pandas")
    X = table()
    kernel = k.Spectrum(2).on(0).normalised() + k.Spectrum(1).on(0) * k.RBF(gamma=0.5).on([1, 2])
    texts, numbers = X[:, 0], X[:, 1:].astype(float)
    expected = k.Spectrum(2).normalised()(texts) + k.Spectrum(1)(texts) * k.RBF(gamma=0.5)(numbers)
    for rows in (X, X.tolist(), pandas.DataFrame(X, columns=["text", "a", "b"]).infer_objects()):
        np.testing.assert_allclose(kernel(rows), expected, rtol=1e-14)
        np.testing.assert_allclose(kernel(rows[:2], rows), expected[:2], rtol=1e-14)
    assert not kernel.numeric


def test_features_of_a_table_with_texts() -> None:
    kernel = k.Spectrum(2).on(0) + k.Linear().on([1, 2])
    assert "⟨ψ(x), ψ(z)⟩ is the kernel where ψ is finite" in check_kernel(kernel, table())


def test_a_text_in_a_column_of_numbers_is_found() -> None:
    with pytest.raises(ColumnTypeError, match="'banana' in row 0"):
        (k.Spectrum(2).on(0) + k.RBF().on([0, 1]))(table())


def test_the_columns_of_other_symbols_are_tuples_of_them() -> None:
    psi = k.Spectrum(2).feature_map([("la", "le", "la"), ("le", "la")])
    assert psi.names == [("la", "le"), ("le", "la")]


def test_subsequences_longer_than_every_row_do_not_occur() -> None:
    """Steps of the recursion are not made for symbols that no row has; 10⁹ of them would take hours."""
    kernel = k.Subsequence(10**9)
    assert not kernel(TEXTS).any()
    assert not kernel(TEXTS, TEXTS[:2]).any()
    assert not kernel.diag(TEXTS).any()
