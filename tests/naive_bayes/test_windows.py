"""Naive Bayes with Parzen windows for some of its columns."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.base import clone

from mercer import NaiveBayes, linear_form
from mercer._errors import BandwidthError, ColumnTypeError, FamilyError, MergeError, NoLinearFormError, NonFiniteError
from mercer.density import Parzen
from mercer.families import Gaussian
from mercer.naive_bayes.parts import WindowsPart


def two_humps(n: int = 300, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """A class in the middle of the other, a column of the other kind, and gaps."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    humps = np.where(y == 1, rng.normal(size=n), rng.choice([-4.0, 4.0], n) + rng.normal(size=n))
    humps[::11] = np.nan
    return pd.DataFrame({"x": humps, "g": rng.normal(y), "c": np.where(rng.random(n) < 0.3 + 0.4 * y, "u", "v")}), y


X, Y = two_humps()
RNG = np.random.default_rng(7)


def test_the_joint_is_the_product_of_windows_and_other_families():
    model = NaiveBayes({"x": Parzen(bandwidth=0.5)}).fit(X, Y)
    assert isinstance(model.parts_[0], WindowsPart)
    rest = NaiveBayes().fit(X[["g", "c"]], Y)
    expected = rest.predict_joint_log_proba(X[["g", "c"]])
    for c in range(2):
        points = X.x[(c == Y) & X.x.notna()].to_numpy()
        density = stats.norm.pdf(X.x.to_numpy()[:, None], points, 0.5).mean(axis=1)
        expected[:, c] += np.where(X.x.isna(), 0.0, np.log(density, where=~np.isnan(density), out=np.zeros(len(X))))
    np.testing.assert_allclose(model.predict_joint_log_proba(X), expected, rtol=1e-9)


def test_windows_separate_classes_that_normal_distributions_do_not():
    """Classes that take turns along a line."""
    rng = np.random.default_rng(4)
    x = rng.uniform(0, 6, (900, 1))
    y = np.floor(x[:, 0]).astype(int) % 2
    train, test = slice(0, 600), slice(600, None)
    accuracy = {
        name: NaiveBayes(families).fit(x[train], y[train]).score(x[test], y[test])
        for name, families in {
            "normal": "auto",
            "narrow": Parzen(bandwidth=0.1),
            "isj": Parzen(bandwidth="isj"),
        }.items()
    }
    assert accuracy["normal"] < 0.7
    assert accuracy["narrow"] > 0.9
    assert accuracy["isj"] > 0.9


def test_a_family_is_found_by_its_name():
    by_name, by_object = NaiveBayes("parzen").fit(X[["x"]], Y), NaiveBayes({"x": Parzen()}).fit(X[["x"]], Y)
    np.testing.assert_array_equal(by_name.predict_proba(X[["x"]]), by_object.predict_proba(X[["x"]]))


def test_models_of_shards_merge_and_rows_are_forgotten():
    whole = NaiveBayes({"x": Parzen()}).fit(X, Y)
    parts = [NaiveBayes({"x": Parzen()}).fit(X[rows], Y[rows]) for rows in (slice(0, 100), slice(100, None))]
    merged = parts[0].merge(parts[1])
    np.testing.assert_allclose(merged.predict_proba(X), whole.predict_proba(X), rtol=1e-9)
    learnt = NaiveBayes({"x": Parzen()}).partial_fit(X[:100], Y[:100]).partial_fit(X[100:], Y[100:])
    np.testing.assert_allclose(learnt.predict_proba(X), whole.predict_proba(X), rtol=1e-9)
    left = whole.forget(X[200:], Y[200:])
    again = NaiveBayes({"x": Parzen()}).fit(X[:200], Y[:200])
    np.testing.assert_allclose(left.predict_proba(X), again.predict_proba(X), rtol=1e-9)
    with pytest.raises(MergeError, match="'x' differently"):
        again.merge(NaiveBayes({"x": Parzen(bandwidth=2.0)}).fit(X, Y))


def test_models_are_copied_and_get_other_priors():
    model = NaiveBayes({"x": Parzen()}).fit(X, Y)
    for copy in (pickle.loads(pickle.dumps(model)), clone(model).fit(X, Y)):
        np.testing.assert_array_equal(copy.predict_proba(X), model.predict_proba(X))
    other = model.with_priors([0.9, 0.1])
    shift = np.log(other.class_prior_) - np.log(model.class_prior_)
    np.testing.assert_allclose(
        other.predict_joint_log_proba(X), model.predict_joint_log_proba(X) + shift, rtol=1e-9, atol=1e-9
    )


def test_densities_integrate_to_one_and_samples_follow_them():
    model = NaiveBayes({"x": Parzen()}).fit(X[["x"]], Y)
    grid = np.linspace(-12, 12, 4001)
    assert np.exp(model.log_density(pd.DataFrame({"x": grid}))).sum() * (grid[1] - grid[0]) == pytest.approx(
        1, abs=1e-6
    )
    rows, labels = model.sample(4000, random_state=3)
    for c in range(2):
        observed, drawn = X.x[c == Y], rows.x[labels == c]
        width = model.parameters_["x"].bandwidth[c]
        assert drawn.mean() == pytest.approx(observed.mean(), abs=0.3)
        assert drawn.var() == pytest.approx(observed.var() + width**2, rel=0.1)


def test_a_constant_class_uses_the_common_bandwidth_and_a_constant_column_has_no_effect():
    frame = pd.DataFrame({"a": [3.0, 3.0, 3.0, 1.0, 2.0, 6.0], "same": 7.0})
    y = np.repeat([0, 1], 3)
    model = NaiveBayes({"a": Parzen(), "same": Parzen()}).fit(frame, y)
    table = model.tables()
    assert table["a"][0]["bandwidth"] > 0
    assert table["a"][0]["bandwidth"] != table["a"][1]["bandwidth"]
    assert table["same"] == {0: {"bandwidth": pytest.approx(np.nan, nan_ok=True), "windows": 0}} | {
        1: {"bandwidth": pytest.approx(np.nan, nan_ok=True), "windows": 0}
    }
    alone = NaiveBayes({"a": Parzen()}).fit(frame[["a"]], y)
    np.testing.assert_array_equal(model.predict_proba(frame), alone.predict_proba(frame[["a"]]))
    assert (model.sample(5, random_state=0)[0].same == 7.0).all()
    # a width that is given holds everywhere
    given = NaiveBayes(Parzen(bandwidth=1.0)).fit(frame, y)
    assert given.tables()["same"][0]["bandwidth"] == 1.0


def test_a_class_without_observations_of_a_column_uses_all_classes():
    frame = X[["x", "g"]].copy()
    frame.loc[Y == 1, "x"] = np.nan
    model = NaiveBayes({"x": Parzen(), "g": Gaussian()}).fit(frame, Y)
    without = NaiveBayes().fit(frame[["g"]], Y)
    np.testing.assert_allclose(model.predict_proba(frame), without.predict_proba(frame[["g"]]), rtol=1e-8)
    never = frame.assign(x=np.nan)
    assert NaiveBayes({"x": Parzen()}).fit(never, Y).sample(3, random_state=0)[0].x.isna().all()


def test_rows_far_away_and_out_of_reach():
    far = np.array([[1e6], [-1e200]])
    train = X.dropna()[["x"]].to_numpy()
    y = Y[X.x.notna()]
    assert np.isfinite(NaiveBayes(Parzen()).fit(train, y).predict_proba(far)).all()
    bounded = NaiveBayes(Parzen("uniform")).fit(train, y)
    np.testing.assert_allclose(bounded.predict_proba(far), np.tile(bounded.class_prior_, (2, 1)))
    np.testing.assert_array_equal(bounded.log_density(far), -np.inf)


def test_there_is_no_linear_form():
    with pytest.raises(NoLinearFormError, match=r"'x'.*sum of kernels"):
        linear_form(NaiveBayes({"x": Parzen()}).fit(X, Y))


def test_a_class_of_one_row_uses_the_common_bandwidth():
    frame = pd.DataFrame({"x": [*RNG.normal(size=40), 8.0]})
    for bandwidth in ("isj", "silverman-scaled", "likelihood-cv"):
        model = NaiveBayes({"x": Parzen(bandwidth=bandwidth)}).fit(frame, [*["many"] * 40, "one"])
        table = model.tables()["x"]
        assert table["one"]["windows"] == 1
        assert table["one"]["bandwidth"] > 0
        np.testing.assert_array_equal(model.predict(pd.DataFrame({"x": [7.9, 0.1]})), ["one", "many"])


def test_an_unknown_name_is_rejected_with_the_known_ones():
    with pytest.raises(FamilyError, match=r"no family is called 'parzan'.*'gaussian'.*There is 'parzen', too"):
        NaiveBayes("parzan").fit(X, Y)


def test_invalid_columns_are_named():
    with pytest.raises(NonFiniteError, match="'x' is inf in row 3"):
        NaiveBayes({"x": Parzen()}).fit(X.assign(x=np.where(np.arange(len(X)) == 3, np.inf, 0.0)), Y)
    with pytest.raises(ColumnTypeError, match="'c' holds text"):
        NaiveBayes({"c": Parzen()}).fit(X, Y)
    with pytest.raises(BandwidthError, match="'x'"):
        NaiveBayes({"x": Parzen(bandwidth="isj")}).fit(pd.DataFrame({"x": [1.0, 2.0]}), [0, 1])
