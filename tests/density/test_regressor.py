"""Both kernel regressions: their laws, the widths they choose, what others say, intervals, and input of all kinds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from statsmodels.nonparametric.kernel_regression import KernelReg

from mercer import LocalLinear, NadarayaWatson
from mercer._errors import BandwidthError, DataError, FitInterrupted, InferenceError, NonFiniteError
from mercer.density import Bandwidth
from mercer.density import _kernel_regression as kernel_regression
from mercer.density._regression import compute_left_out_error
from tests.base._layouts import read_only
from tests.density._conventions import assert_conventions
from tests.density._waves import draw

Array = np.ndarray
BOTH = [NadarayaWatson, LocalLinear]

# Laws.


@pytest.mark.parametrize("model", BOTH)
def test_narrow_kernels_give_the_nearest_value(model: Any) -> None:
    X, y = draw()
    queries = draw(seed=1)[0]
    nearest = np.linalg.norm(queries[:, None] - X, axis=2).argmin(axis=1)
    assert_allclose(NadarayaWatson(bandwidth=1e-6).fit(X, y).predict(queries), y[nearest])
    assert_allclose(NadarayaWatson("epanechnikov", 1e-6).fit(X, y).predict(queries), y[nearest])
    assert_allclose(model(bandwidth=1e-6).fit(X, y).predict(X), y)


def test_wide_kernels_give_the_mean_and_the_line() -> None:
    X, y = draw()
    queries = draw(seed=1)[0]
    assert_allclose(NadarayaWatson(bandwidth=1e8).fit(X, y).predict(queries), y.mean(), rtol=1e-12)
    design = np.column_stack([np.ones(len(X)), X])
    line = np.column_stack([np.ones(len(X)), queries]) @ np.linalg.lstsq(design, y, rcond=None)[0]
    assert_allclose(LocalLinear(bandwidth=1e8).fit(X, y).predict(queries), line, atol=1e-8)


@pytest.mark.parametrize("model", BOTH)
@pytest.mark.parametrize("kernel", ["gaussian", "exponential", "epanechnikov"])
def test_weights_sum_to_one_and_make_the_prediction(model: Any, kernel: str) -> None:
    X, y = draw()
    fitted = model(kernel, 1.0).fit(X, y)
    weights = fitted.weights(X)
    assert_allclose(weights.sum(axis=1), 1.0, rtol=1e-12)
    assert_allclose(weights @ y, fitted.predict(X), atol=1e-11)


@pytest.mark.parametrize("model", BOTH)
def test_several_outputs_are_predicted_independently(model: Any) -> None:
    X, Y = draw(outputs=3)
    together = model(bandwidth=0.7).fit(X, Y)
    for k in range(3):
        alone = model(bandwidth=0.7).fit(X, Y[:, k])
        assert_allclose(together.predict(X)[:, k], alone.predict(X), atol=1e-11)
        assert_allclose(together.leave_one_out_predictions_[:, k], alone.leave_one_out_predictions_, atol=1e-11)
        assert_allclose(together.predict_interval(X).upper[:, k], alone.predict_interval(X).upper, atol=1e-10)
    assert model(bandwidth=0.7).fit(X, Y[:, :1]).predict(X).shape == (40, 1)


@pytest.mark.parametrize("model", BOTH)
@pytest.mark.parametrize("kernel", ["gaussian", "epanechnikov"])
def test_weights_are_equivalent_to_repetitions(model: Any, kernel: str) -> None:
    X, y = draw()
    weight = np.random.default_rng(1).integers(0, 4, size=40)
    weighted = model(kernel, 0.9).fit(X, y, weight)
    repeated = model(kernel, 0.9).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-11)
    assert (weighted.weights(X)[:, weight == 0] == 0).all()


@pytest.mark.parametrize("model", BOTH)
@pytest.mark.parametrize("weighted", [False, True])
def test_leave_one_out_predictions_agree_with_refits(model: Any, weighted: bool) -> None:
    X, y = draw(25)
    weight = np.random.default_rng(1).integers(0, 4, size=25) if weighted else np.ones(25)
    fitted = model(bandwidth=0.8).fit(X, y, weight)
    own = np.diag(fitted.weights(X))
    assert_allclose(
        y - fitted.leave_one_out_predictions_, (y - fitted.predict(X)) / (1 - own), atol=1e-10
    )  # closed form
    for i in range(25):
        others = np.arange(25) != i
        refit = model(bandwidth=0.8).fit(X[others], y[others], weight[others])
        assert_allclose(fitted.leave_one_out_predictions_[i], refit.predict(X[[i]])[0], atol=1e-10)


@pytest.mark.parametrize("model", BOTH)
@pytest.mark.parametrize(("scale", "shift"), [(1e-6, 0.0), (1e6, -3.0), (7.0, 10.0)])
def test_units_do_not_matter(model: Any, scale: float, shift: float) -> None:
    X, y = draw(30)
    original, moved = model().fit(X, y), model().fit(X * scale + shift, -3 * y + 1)
    assert_allclose(moved.bandwidth_.value, scale * original.bandwidth_.value, rtol=1e-2)
    assert_allclose(moved.predict(X * scale + shift), -3 * original.predict(X) + 1, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("model", BOTH)
def test_a_constant_is_reproduced_to_the_last_digit(model: Any) -> None:
    X, _ = draw()
    constant = np.full(40, 0.1)
    assert_array_equal(model(bandwidth=0.5).fit(X, constant).predict(X), constant)
    assert_array_equal(model().fit(X, constant).predict(X), constant)


@pytest.mark.parametrize("bandwidth", [0.8, [0.5, 1.5], [[0.5, 0.2], [0.2, 0.6]], Bandwidth(0.8), "scott-scaled"])
@pytest.mark.parametrize("model", BOTH)
def test_every_form_of_bandwidth_is_accepted(model: Any, bandwidth: Any) -> None:
    X, y = draw()
    fitted = model(bandwidth=bandwidth).fit(X, y)
    assert fitted.bandwidth_choice_ is None
    assert fitted.score(X, y) > 0.1
    if not isinstance(bandwidth, str | Bandwidth):
        assert_allclose(fitted.bandwidth_.value, bandwidth)


# Choosing.


@pytest.mark.parametrize("model", BOTH)
def test_the_default_minimizes_the_leave_one_out_error(model: Any) -> None:
    X, y = draw(60)
    fitted = model().fit(X, y)
    error = np.mean((y - fitted.leave_one_out_predictions_) ** 2)
    assert_allclose(fitted.bandwidth_choice_.error, error / y.var())
    for factors in ([0.8, 1], [1.25, 1], [1, 0.8], [1, 1.25], [1.1, 1.1]):
        other = model(bandwidth=fitted.bandwidth_.value * factors).fit(X, y)
        assert error < np.mean((y - other.leave_one_out_predictions_) ** 2) * (1 + 1e-6)
    assert "leave-one-out" in str(fitted.bandwidth_)
    assert fitted.certificate_.holds
    assert "60 rows" in str(fitted.plan_)


@pytest.mark.parametrize("model", BOTH)
@pytest.mark.parametrize("n", [40, 1700])
def test_the_order_of_rows_does_not_affect_the_bandwidth(model: Any, n: int) -> None:
    """Not among equal errors, not by the rounding of sums, and not by which rows are searched."""
    X, y = draw(n, 1 if n > 40 else 2)
    X, weight = np.round(X, 1), np.random.default_rng(1).integers(0, 3, size=n)
    order = np.random.default_rng(2).permutation(n)
    chosen = model().fit(X, y, weight).bandwidth_
    assert model().fit(X[order], y[order], weight[order]).bandwidth_ == chosen


def test_more_columns_than_rows() -> None:
    X, y = draw(12, 30)
    for model in BOTH:
        assert np.isfinite(model().fit(X, y).predict(X)).all()


# Others.


@pytest.mark.parametrize(("model", "kind"), [(NadarayaWatson, "lc"), (LocalLinear, "ll")])
@pytest.mark.parametrize("d", [1, 2])
def test_predictions_agree_with_statsmodels(model: Any, kind: str, d: int) -> None:
    X, y = draw(30, d)
    bandwidth = [0.5, 0.9][:d]
    theirs = KernelReg(y, X, "c" * d, reg_type=kind, bw=bandwidth)
    ours = model(bandwidth=bandwidth).fit(X, y)
    queries = draw(20, d, seed=1)[0]
    means, slopes = theirs.fit(queries)
    assert_allclose(ours.predict(queries), means, atol=1e-8)
    if kind == "ll":
        assert_allclose(ours.coef(queries), slopes, atol=1e-8)
    error = theirs.cv_loo(np.array(bandwidth), theirs.est[kind])
    assert_allclose(np.mean((y - ours.leave_one_out_predictions_) ** 2), error, rtol=1e-8)


@pytest.mark.parametrize(("model", "kind"), [(NadarayaWatson, "lc"), (LocalLinear, "ll")])
def test_the_error_is_no_greater_than_that_of_statsmodels(model: Any, kind: str) -> None:
    X, y = draw(25)
    theirs = KernelReg(y, X, "cc", reg_type=kind, bw="cv_ls")
    error = theirs.cv_loo(theirs.bw, theirs.est[kind])
    ours = model().fit(X, y)
    assert np.mean((y - ours.leave_one_out_predictions_) ** 2) <= error * (1 + 1e-9)


# Out of reach.


FAR = np.array([[100.0, 100.0], [0.0, 0.0]])


@pytest.mark.parametrize("model", BOTH)
def test_out_of_reach_predictions_follow_the_option(model: Any) -> None:
    X, y = draw()
    nearest = np.linalg.norm(FAR[0] - X, axis=1).argmin()

    def far(out_of_reach: str) -> Array:
        return model("epanechnikov", 1.5, out_of_reach=out_of_reach).fit(X, y).predict(FAR)

    assert_allclose(far("nearest")[0], y[nearest])
    assert_allclose(far("mean")[0], y.mean())
    assert_array_equal(np.isnan(far("nan")), [True, False])
    with pytest.raises(DataError, match=r"row 0 of X.*out_of_reach"):
        far("error")
    assert len({far(way)[1] for way in ("nearest", "mean", "nan")}) == 1
    assert np.isfinite(model("epanechnikov", 1.5, out_of_reach="error").fit(X, y).predict(FAR[1:])).all()
    fitted = model("epanechnikov", 1.5).fit(X, y)
    assert_array_equal(np.isnan(fitted.weights(FAR)).all(axis=1), [True, False])
    assert_array_equal(np.isnan(fitted.predict_interval(FAR).lower), [True, False])


# Intervals.


@pytest.mark.parametrize("model", BOTH)
def test_intervals_have_the_nominal_coverage(model: Any) -> None:
    """With a narrow bandwidth, so that there is next to no bias, and noise that grows with x."""
    rng = np.random.default_rng(0)
    x, where = np.linspace(0, 6, 300), np.array([[1.0], [3.0], [5.0]])
    held = np.zeros((200, 3))
    for hit in held:
        y = np.sin(x) + (0.1 + 0.1 * x) * rng.normal(size=300)
        interval = model(bandwidth=0.15).fit(x[:, None], y).predict_interval(where, level=0.9)
        hit[:] = (interval.lower < np.sin(where[:, 0])) & (np.sin(where[:, 0]) < interval.upper)
    assert_allclose(held.mean(axis=0), 0.9, atol=0.07)
    assert_allclose(held.mean(), 0.9, atol=0.035)


@pytest.mark.parametrize("model", BOTH)
def test_an_interval_agrees_with_its_formula(model: Any) -> None:
    X, y = draw()
    fitted = model(bandwidth=0.8).fit(X, y)
    interval = fitted.predict_interval(X[:5], level=0.95)
    shares = NadarayaWatson(bandwidth=0.8).fit(X, y).weights(X[:5])
    variance = shares @ (y - fitted.leave_one_out_predictions_) ** 2 * (fitted.weights(X[:5]) ** 2).sum(axis=1)
    assert_allclose(interval.upper - interval.mean, 1.959963984540054 * np.sqrt(variance))
    assert_allclose(interval.mean - interval.lower, interval.upper - interval.mean)
    assert_allclose(interval.mean, fitted.predict(X[:5]))


@pytest.mark.parametrize("level", [0, 1, 95, "high"])
def test_a_level_is_a_probability(level: Any) -> None:
    X, y = draw()
    with pytest.raises(InferenceError, match=r"0\.95"):
        NadarayaWatson(bandwidth=1.0).fit(X, y).predict_interval(X, level)


def test_a_curve_is_drawn_for_one_column() -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    X, y = draw(d=1)
    people = pd.DataFrame({"age": X[:, 0]})
    for target, name in ((y, "y"), (pd.Series(y, name="income"), "income"), (pl.DataFrame({"pay": y}), "pay")):
        ax = NadarayaWatson(bandwidth=0.5).fit(people, target).plot()
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("age", name)
        pyplot.close(ax.figure)
    X, y = draw(d=2)
    with pytest.raises(DataError, match="one column"):
        NadarayaWatson(bandwidth=0.5).fit(X, y).plot()


# Input of all kinds.


@pytest.mark.parametrize("model", BOTH)
def test_columns_far_from_zero_keep_their_digits(model: Any) -> None:
    X, y = draw()
    X = np.round(X * 2**20) / 2**20  # so that adding 2^27 changes no digit
    near, far = model(bandwidth=0.5).fit(X, y), model(bandwidth=0.5).fit(X + 2.0**27, y + 1e8)
    assert_allclose(far.predict(X + 2.0**27) - 1e8, near.predict(X), atol=1e-7)


@pytest.mark.parametrize("model", BOTH)
@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_tiny_and_huge_units(model: Any, scale: float) -> None:
    X, y = draw()
    expected = model().fit(X, y).predict(X)
    assert_allclose(model().fit(X * scale, y).predict(X * scale), expected, rtol=1e-3, atol=1e-3)
    assert_allclose(model().fit(X, y * scale).predict(X) / scale, expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("model", BOTH)
def test_memory_layouts_do_not_matter(model: Any) -> None:
    X, y = draw()
    expected = model(bandwidth=0.5).fit(X, y).predict(X)
    for other in (np.asfortranarray(X), read_only(X), np.repeat(X, 2, axis=1)[:, ::2]):
        assert_allclose(model(bandwidth=0.5).fit(other, y).predict(other), expected, rtol=1e-13)
    assert_allclose(model(bandwidth=0.5).fit(X.astype(np.float32), y).predict(X), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("model", BOTH)
def test_numbers_whose_differences_overflow_are_rejected(model: Any) -> None:
    X, y = draw()
    largest = np.where(np.arange(40) % 2, 1.0, -1.0) * np.finfo(float).max
    with pytest.raises(NonFiniteError, match=r"column 'x1' is so wide .* too large for float64"):
        model(bandwidth=1.0).fit(np.column_stack([X[:, 0], largest]), y)
    with pytest.raises(NonFiniteError, match=r"y is so wide .* too large for float64"):
        model(bandwidth=1.0).fit(X, largest)


def test_one_row_and_equal_rows() -> None:
    alone = NadarayaWatson(bandwidth=1.0).fit([[1.0]], [5.0])
    assert_array_equal(alone.predict([[1.0], [9.0]]), [5.0, 5.0])
    assert np.isnan(alone.leave_one_out_predictions_).all()
    assert np.isnan(alone.predict_interval([[1.0]]).upper).all()
    with pytest.raises(BandwidthError, match="n_samples=1"):
        NadarayaWatson().fit([[1.0]], [5.0])
    X = np.repeat([[0.0], [1.0]], 5, axis=0)
    y = np.arange(10.0)
    for model in BOTH:
        assert_allclose(model(bandwidth=1e-3).fit(X, y).predict([[0.0], [1.0]]), [2.0, 7.0])
        assert np.isfinite(model().fit(X, y).predict(X)).all()


@pytest.mark.parametrize("model", BOTH)
def test_an_interrupted_fit_keeps_the_best_widths(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = draw()
    errors: list[float] = []

    def interrupted(*given: Any) -> float:
        if len(errors) == 10:
            raise KeyboardInterrupt
        errors.append(compute_left_out_error(*given))
        return errors[-1]

    monkeypatch.setattr(kernel_regression, "compute_left_out_error", interrupted)
    stopped = model()
    with pytest.raises(FitInterrupted, match="kept") as interruption:
        stopped.fit(X, y)
    assert not stopped.certificate_.holds
    assert interruption.value.solution.coef is stopped.bandwidth_choice_
    assert stopped.bandwidth_choice_.error == min(errors)
    fixed = model(bandwidth=stopped.bandwidth_).fit(X, y)
    assert_array_equal(stopped.predict(X), fixed.predict(X))
    with pytest.raises(KeyboardInterrupt):  # before there is anything to keep: the old model stays
        fixed.set_params(bandwidth="leave-one-out").fit(X[:20], y[:20])
    assert_array_equal(stopped.predict(X), fixed.predict(X))


@pytest.mark.parametrize("model", [NadarayaWatson, pytest.param(LocalLinear, marks=pytest.mark.slow)])
def test_follows_the_conventions_of_scikit_learn(model: Any) -> None:
    """Widths by default; at a given width a weight is a repetition, too (tests/base/test_check_estimator.py)."""
    assert_conventions(model())


@pytest.mark.parametrize("smoother", BOTH)
@pytest.mark.parametrize("outputs", [None, 2])
def test_weights_and_intervals_of_tensors_are_tensors(smoother: Any, outputs: int | None) -> None:
    torch = pytest.importorskip("torch")
    X, y = draw(outputs=outputs)
    model = smoother(bandwidth=0.6).fit(X, y)
    plain, tensor = model.predict_interval(X[:7]), model.predict_interval(torch.as_tensor(X[:7]))
    for name in ("mean", "lower", "upper"):
        assert isinstance(getattr(tensor, name), torch.Tensor)
        assert_allclose(getattr(tensor, name), getattr(plain, name), rtol=1e-9)
    assert_allclose(tensor.frame(), plain.frame())
    assert model.predict_interval(torch.as_tensor(X[:7]).float()).mean.dtype == torch.float32
    weights = model.weights(torch.as_tensor(X[:7]))
    assert isinstance(weights, torch.Tensor)
    assert_allclose(weights, model.weights(X[:7]), rtol=1e-9)
    whole = model.weights(torch.zeros((1, 2), dtype=torch.int64))
    assert whole.dtype == torch.float64
    assert_allclose(whole.sum(), 1.0)
