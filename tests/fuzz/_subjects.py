"""Every public estimator, the options it is tried with, and what may be said about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import sklearn.discriminant_analysis
import sklearn.kernel_approximation
import sklearn.kernel_ridge
import sklearn.linear_model
import sklearn.naive_bayes
import sklearn.neighbors
import sklearn.svm

import mercer
from mercer.families import L1, L2
from tests.fuzz._inputs import (
    DENSE,
    LABELS,
    RESPONSES,
    SPARSE,
    TAME_FRAMES,
    TAME_LABELS,
    TAME_RESPONSES,
    TAME_VALUES,
    Case,
)

_TWINS = (
    sklearn.linear_model,
    sklearn.naive_bayes,
    sklearn.discriminant_analysis,
    sklearn.svm,
    sklearn.kernel_ridge,
    sklearn.neighbors,
    sklearn.kernel_approximation,
)
_COUNTED = ("counts", "binary", "positive")
_CODED = ("counts", "binary")


@dataclass(frozen=True)
class Subject:
    """An estimator under test; each of `options` is a set of keyword arguments."""

    name: str
    learns: str  # "classes", "numbers" or "rows"
    options: tuple[dict[str, Any], ...] = ({},)
    make: Callable[..., Any] | None = None
    #: values and targets on which it has a fit, for laws about the fit
    values: tuple[str, ...] = TAME_VALUES
    targets: tuple[str, ...] = ()
    forms: tuple[str, ...] = (*DENSE, *SPARSE, *TAME_FRAMES)
    #: what makes an iterative fit exact enough to be compared
    exactly: tuple[tuple[str, Any], ...] = ()
    weighted: bool = True
    #: whether a row of weight two is two rows, and the order of rows means nothing
    weight_is_number: bool = True
    any_order: bool = True
    merges: bool = False
    forgets: bool = False
    digits: float = 1e-7
    #: how near to scikit-learn, whose solvers stop where they may
    twin_digits: float = 1e-5
    #: what says nothing about whether two fits are one model
    not_compared: tuple[str, ...] = ()
    #: options with many optima where columns depend on each other: they agree on rows that have weight, and no others
    many_optima: tuple[int, ...] = ()
    #: options with one fit where columns are more than rows, too, at which scikit-learn arrives as well
    wide: tuple[int, ...] = ()

    def model(self, option: int = 0, **more: Any) -> Any:
        make = self.make or getattr(mercer, self.name)
        return make(**self.options[option] | more)

    def exact_model(self, option: int = 0) -> Any:
        model = self.model(option)
        return model.set_params(**{k: v for k, v in self.exactly if k in model.get_params()})

    def twin(self, option: int = 0) -> Any | None:
        """scikit-learn's estimator of the same name, with the same options, if it has them."""
        theirs = next((getattr(room, self.name) for room in _TWINS if hasattr(room, self.name)), None)
        if theirs is None or self.make is not None:
            return None
        try:
            return theirs().set_params(**self.options[option])
        except ValueError:  # an option of ours
            return None

    def arguments(self, case: Case) -> tuple[Any, ...]:
        """Return the arguments of `fit` that come before the weights."""
        if self.learns == "classes":
            return (case.X, case.labels)
        return (case.X, case.response) if self.learns == "numbers" else (case.X,)

    @property
    def all_targets(self) -> list[str]:
        return list(LABELS if self.learns == "classes" else RESPONSES)

    @property
    def tame_targets(self) -> tuple[str, ...]:
        return self.targets or (TAME_LABELS if self.learns == "classes" else TAME_RESPONSES)


def _generative(name: str, *options: dict[str, Any], **facts: Any) -> Subject:
    return Subject(name, "classes", options or ({},), **({"merges": True, "forgets": True} | facts))


def _solved(name: str, learns: str, *options: dict[str, Any], **facts: Any) -> Subject:
    exactly = (("tol", 1e-10), ("max_iter", 10_000))
    return Subject(
        name, learns, options or ({},), **({"exactly": exactly, "digits": 1e-5, "twin_digits": 1e-3} | facts)
    )


def _features(name: str, *options: dict[str, Any], **facts: Any) -> Subject:
    return Subject(name, "rows", options or ({},), **({"weighted": False} | facts))


def _over_bayes(wrapper: str) -> Callable[..., Any]:
    return lambda **options: getattr(mercer, wrapper)(mercer.GaussianNB(), **options)


#: steps that move two rows each, ten thousand of which may end far from the optimum; without a bound, libsvm may never
_EXACT_STEPS = (("tol", 1e-10), ("max_iter", 1_000_000))
_WIDTHS = ({"bandwidth": 1.0}, {}, {"kernel": "epanechnikov"})
#: out of reach of all rows the nearest answers, which of several that are equally near is anyhow
_ONE_ANSWER = (("out_of_reach", "mean"),)
_SEARCHED = ({"alphas": 5, "cv": 3},)
_FEW_COLUMNS = ({"bins": 4}, {"bins": "auto"}, {"bins": [[-5.0, 0.0, 0.5, 50.0]]})

CLASSIFIERS = (
    # with var_smoothing, rows of weight 0 have a say in the largest variance, as in scikit-learn
    _generative("GaussianNB", {"var_smoothing": 0.0}, {}, {"shared_variance": True}, {"priors": [0.3, 0.7]}),
    _generative("BernoulliNB", {}, {"binarize": None}, {"alpha": 0.0, "force_alpha": True}),
    _generative("MultinomialNB", {}, {"fit_prior": False}, {"alpha": 0.0}, values=_COUNTED),
    _generative("ComplementNB", {}, {"norm": True}, values=_COUNTED),
    # without the number of categories, rows of weight 0 have a say in it, as in scikit-learn
    _generative("CategoricalNB", {"min_categories": 30}, {}, values=_CODED),
    # all columns of a sparse matrix are one multinomial, by default
    _generative(
        "NaiveBayes",
        {},
        {"families": "gaussian"},
        {"smoothing": 0.0},
        {"families": "poisson"},
        forms=(*DENSE, *TAME_FRAMES),
    ),
    _generative(
        "GaussianDiscriminant", {"covariance": "shared full", "shrinkage": 0.1}, {}, {"covariance": "diagonal"}
    ),
    _generative("LinearDiscriminantAnalysis", {}, {"solver": "lsqr", "shrinkage": "auto"}, {"solver": "eigen"}),
    _generative("QuadraticDiscriminantAnalysis", {"reg_param": 0.1}, {}, {"solver": "eigen", "shrinkage": "auto"}),
    _generative("KernelBayes", {"bandwidth": 1.0}, {}, {"kernel": "epanechnikov"}),
    _solved("OrdinalRegression", "classes", {}, {"C": 1e6}),
    _solved(
        "LogisticRegression",
        "classes",
        {},
        {"C": 1e6},
        {"l1_ratio": 1.0, "solver": "saga"},
        {"solver": "liblinear"},
        many_optima=(2,),
        wide=(0, 2, 3),
    ),
    # folds are made of rows: their order matters, and a row of weight two is in one fold only; of classes that are
    # equally probable rounding makes one the right answer, so that accuracy is not compared
    _solved(
        "LogisticRegressionCV",
        "classes",
        {"Cs": 3, "cv": 3, "l1_ratios": (0.0,), "scoring": None, "use_legacy_attributes": False},
        exactly=(("tol", 1e-10), ("max_iter", 10_000), ("scoring", "neg_log_loss")),
        weight_is_number=False,
        any_order=False,
        wide=(0,),
    ),
    _solved(
        "LinearSVC",
        "classes",
        {},
        {"C": 100.0},
        {"loss": "hinge"},
        {"penalty": "l1", "dual": False},
        wide=(0, 1, 2),
    ),
    # the scale of probabilities, which are not compared, is from leaving rows out: one of weight two goes as a whole,
    # and of equal rows those that support are as they come
    _solved(
        "SVC",
        "classes",
        {"gamma": 0.5},
        {},
        {"kernel": "linear", "C": 10.0},
        {"kernel": "poly"},
        exactly=_EXACT_STEPS,
        targets=("two", "objects", "truths"),  # of three classes, votes are cast by comparisons with 0
        not_compared=("predict_proba",),
        wide=(0, 1, 2, 3),
    ),
    # row after row; and of sparse rows the intercept learns more slowly, as in scikit-learn
    _solved(
        "Perceptron",
        "classes",
        {},
        {"penalty": "l2"},
        weight_is_number=False,
        any_order=False,
        exactly=(),
        forms=(*DENSE, *TAME_FRAMES),
    ),
    _solved(
        "LinearThreshold",
        "classes",
        {},
        {"rule": "lms"},
        {"mode": "incremental"},
        weight_is_number=False,
        any_order=False,
        exactly=(),
    ),
    Subject("NadarayaWatsonClassifier", "classes", _WIDTHS, exactly=_ONE_ANSWER),
    Subject("Decision", "classes", ({}, {"reject": 0.2}), _over_bayes("Decision"), weight_is_number=False),
    Subject("Calibrated", "classes", ({"cv": 2},), _over_bayes("Calibrated"), weight_is_number=False, any_order=False),
    Subject(
        "ConformalClassifier",
        "classes",
        ({"random_state": 0},),
        _over_bayes("ConformalClassifier"),
        weight_is_number=False,
        any_order=False,
    ),
)

REGRESSORS = (
    # without a penalty, ours are the shortest coefficients but where they may not be negative; those of scikit-learn's
    # Ridge are as rounding has them, and those of its PoissonRegressor and GammaRegressor are longer
    Subject(
        "LinearRegression",
        "numbers",
        ({}, {"fit_intercept": False}, {"positive": True}),
        many_optima=(2,),
        wide=(0, 1, 2),
    ),
    _solved(
        "Ridge",
        "numbers",
        {},
        {"alpha": 0.0},
        {"solver": "sag"},
        {"positive": True, "alpha": 0.1},
        digits=1e-7,
        many_optima=(1,),
        wide=(0, 2),
    ),
    Subject("RidgeCV", "numbers", ({}, {"cv": 3}), weight_is_number=False, any_order=False, wide=(0, 1)),
    _solved(
        "Lasso",
        "numbers",
        {"alpha": 0.1},
        {},
        {"positive": True, "alpha": 0.01},
        many_optima=(0, 1, 2),
        wide=(0, 1, 2),
    ),
    _solved("ElasticNet", "numbers", {"alpha": 0.1}, {}, {"l1_ratio": 0.0, "alpha": 0.1}, wide=(0, 1, 2)),
    # of columns that depend on each other, the rows left out of a fold can be predicted in many ways
    _solved(
        "LassoCV",
        "numbers",
        *_SEARCHED,
        values=("normal", "positive", "duplicate rows"),
        weight_is_number=False,
        any_order=False,
        many_optima=(0,),
        wide=(0,),
    ),
    _solved("ElasticNetCV", "numbers", *_SEARCHED, weight_is_number=False, any_order=False, wide=(0,)),
    _solved("PoissonRegressor", "numbers", {}, {"alpha": 0.0}, targets=("counts", "positive"), many_optima=(1,)),
    _solved("LogNormalRegressor", "numbers", targets=("positive",)),
    _solved("GammaRegressor", "numbers", {}, {"alpha": 0.0}, targets=("positive",), many_optima=(1,)),
    _solved("TweedieRegressor", "numbers", {}, {"power": 1.5}, {"power": 3}, targets=("positive",)),
    _solved(
        "GLM",
        "numbers",
        {"penalty": L2(0.1)},
        {"family": "poisson", "penalty": L2(0.1)},
        {},
        {"family": "gamma", "link": "log"},
        {"family": "bernoulli"},
        {"family": "poisson", "penalty": L1(0.5)},
        {"family": "inverse gaussian", "link": "log"},
        {"family": "poisson", "kernel": "rbf", "penalty": L2(1.0)},
        targets=("positive",),
    ),
    _solved(
        "SVR", "numbers", {"gamma": 0.5}, {}, {"kernel": "linear", "epsilon": 0.0}, exactly=_EXACT_STEPS, wide=(0, 1, 2)
    ),
    _solved("LinearSVR", "numbers", {}, {"epsilon": 0.1, "C": 10.0}, wide=(0, 1)),
    Subject(
        "KernelRidge",
        "numbers",
        ({}, {"kernel": "rbf", "gamma": 0.5}, {"alpha": "loo"}, {"kernel": "chi2"}),
        wide=(0, 1, 2, 3),
    ),
    Subject("NadarayaWatson", "numbers", _WIDTHS, exactly=_ONE_ANSWER),
    # a line through points close together, prolonged to a row of weight 0, has a thousandth of its digits
    Subject("LocalLinear", "numbers", _WIDTHS, exactly=_ONE_ANSWER, digits=1e-3),
    _solved(
        "kernelize",
        "numbers",
        {},
        make=lambda **options: mercer.kernelize(mercer.Ridge(0.5), "rbf").set_params(**options),
        exactly=(),
    ),
    Subject(
        "ConformalRegressor",
        "numbers",
        ({"random_state": 0},),
        lambda **options: mercer.ConformalRegressor(mercer.Ridge(), **options),
        weight_is_number=False,
        any_order=False,
    ),
)

DENSITIES = (
    Subject(
        "KernelDensity",
        "rows",
        ({}, {"kernel": "epanechnikov"}, {"bandwidth": "silverman"}, {"bandwidth": "least-squares-cv"}),
        merges=True,
    ),
    Subject("HistogramDensity", "rows", _FEW_COLUMNS, weight_is_number=False),
    Subject("DensityOutliers", "rows", ({"random_state": 0},), weighted=False, any_order=False),
)

FEATURES = (
    _features("BucketFeatures", {}, {"buckets": "width"}, {"missing": "error"}),
    _features("CategoryFeatures", {}, {"min_frequency": 2}, {"hashed": 8}, values=_CODED, merges=True),
    _features("LogFeatures", {"signed": True}, {}),
    _features("MonomialFeatures", {}, {"degree": 3, "interaction_only": True}, {"scaled": True, "exactly": True}),
    _features("SplineFeatures", {}, {"natural": True}, {"knots": "width", "extrapolation": "linear"}),
    _features("RBFSampler", {"random_state": 0}, {"gamma": "scale", "random_state": 0}),
    # of sparse rows the middle is not taken away: other features of the same kernel
    _features(
        "RandomFourierFeatures",
        {"random_state": 0},
        {"random_state": 0, "sampling": "orthogonal"},
        forms=(*DENSE, *TAME_FRAMES),
    ),
    # the root of the kernel of landmarks close together multiplies the rounding of their distances
    _features(
        "Nystroem",
        {"n_components": 5, "random_state": 0},
        {"kernel": "linear", "random_state": 0},
        any_order=False,
        digits=1e-5,
    ),
    _features("TableFeatures", {}, {"missing": "error", "scale": False}),
    # zeros that are stored count as terms of a document, as in scikit-learn
    _features(
        "TfidfTransformer",
        {},
        {"norm": "l1"},
        {"weighting": "bm25"},
        values=_COUNTED,
        merges=True,
        forms=(*DENSE, "csr_matrix", "csc_array", "coo_array", *TAME_FRAMES),
    ),
)
