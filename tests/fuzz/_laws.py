"""Laws that every estimator obeys for any input."""

from __future__ import annotations

import linecache
import pickle
import tempfile
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import LinAlgWarning
from sklearn import linear_model
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning

import mercer
from mercer._errors import MercerError
from tests.fuzz._inputs import Case, in_form
from tests.fuzz._subjects import Subject

#: prediction methods of a fitted model, the smoothest first
QUESTIONS = ("predict_log_proba", "predict_proba", "decision_function", "score_samples", "transform", "predict")
#: of classes, labels may be tied: what is compared is what they are the largest of
SMOOTH = ("predict_proba", "decision_function", "score_samples", "transform")
KNOWN = Case(rows=24, columns=3, values="counts", target="two", seed=5)


@contextmanager
def quiet() -> Iterator[None]:
    """Warnings with a sentence for the user are welcome; those of NumPy about its own arithmetic are not."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        # scikit-learn's own search for infinity adds up what it is given
        warnings.filterwarnings("ignore", "invalid value encountered in reduce", RuntimeWarning)
        # and its search over folds says in a sentence, which it calls a RuntimeWarning, that some were rejected
        warnings.simplefilter("ignore", FitFailedWarning)
        yield


class Rejected(Exception):
    """A fit or an answer was rejected with a sentence."""


@contextmanager
def rejections_are_sentences() -> Iterator[None]:
    """Turn an error raised on purpose into `Rejected`; any other error is a failure."""
    try:
        with quiet():
            yield
    except (MercerError, ValueError, TypeError) as rejection:
        if not _on_purpose(rejection):
            raise
        raise Rejected(f"{type(rejection).__name__}: {rejection}") from rejection


def _on_purpose(rejection: BaseException) -> bool:
    """Return whether the sentence is one of mercer or scikit-learn, and not an internal error of NumPy."""
    if isinstance(rejection, MercerError):
        return len(str(rejection)) > 20
    if isinstance(rejection, np.linalg.LinAlgError):
        return False
    last = traceback.extract_tb(rejection.__traceback__)[-1]
    if "sklearn" in last.filename:
        return True
    return "mercer" in last.filename and "raise" in (linecache.getline(last.filename, last.lineno or 0))


def fit(model: Any, subject: Subject, case: Case, *, given: tuple[Any, ...] | None = None) -> Any:
    weight = case.weight if subject.weighted else None
    extra = {} if weight is None else {"sample_weight": weight}
    return model.fit(*(given or subject.arguments(case)), **extra)


def answers(model: Any, X: Any, questions: tuple[str, ...] = QUESTIONS) -> dict[str, Any]:
    """Everything the model says of the rows."""
    found = {}
    for name in questions:
        # as in scikit-learn, a solver may have no `transform` though the class has
        with suppress(NotImplementedError):
            if hasattr(model, name):
                found[name] = dense(getattr(model, name)(X))
    return found


def dense(answer: Any) -> Any:
    return np.asarray(answer.toarray() if hasattr(answer, "toarray") else answer)


def equal(one: dict[str, Any], other: dict[str, Any]) -> None:
    """The same to the last bit."""
    assert one.keys() == other.keys()
    for name, answer in one.items():
        np.testing.assert_array_equal(answer, other[name], err_msg=name)


def close(one: dict[str, Any], other: dict[str, Any], digits: float) -> None:
    """Assert equality to the given number of digits for all results that both have."""
    for name in one.keys() & other.keys():
        mine, theirs = np.asarray(one[name]), np.asarray(other[name])
        assert mine.shape == theirs.shape, (name, mine.shape, theirs.shape)
        if mine.dtype.kind in "fiub":
            finite = theirs[np.isfinite(theirs.astype(float))]
            scale = max(1.0, float(np.abs(finite.astype(float)).max(initial=0.0)))
            np.testing.assert_allclose(mine, theirs, rtol=digits, atol=digits * scale, err_msg=name)


# -- whatever is given ------------------------------------------------------------------------------------------------


def survives(subject: Subject, option: int, case: Case) -> str:
    """Check that a fit succeeds and its model predicts, is stored and certified, or fails without side effects."""
    model = subject.model(option)
    before = None
    known = replace(KNOWN, target=subject.tame_targets[0])
    try:
        with rejections_are_sentences():
            fit(model, subject, known)
            before = answers(model, known.X)
    except Rejected:
        model = subject.model(option)  # this option wants other rows
    given = subject.arguments(case)
    try:
        with rejections_are_sentences():
            fit(model, subject, case, given=given)
    except Rejected as rejection:
        if before is not None:
            equal(answers(model, known.X), before)
        accepts_input_of_counterpart(subject, option, case, rejection)
        return "rejected"
    unchanged(given[0], case.X)
    certified(model)
    try:
        with rejections_are_sentences():
            said = answers(model, given[0])
    except Rejected as rejection:
        if is_documented(rejection, DOCUMENTED_AFTERWARDS) or has_invalid_rows_of_weight_zero_only(case):
            return "fitted, no answer"
        raise AssertionError(f"the rows of the fit were rejected afterwards: {rejection}") from rejection
    sensible(subject, model, case, said)
    with quiet():
        travels(model, given[0], said)
    return "fitted"


def has_invalid_rows_of_weight_zero_only(case: Case) -> bool:
    """Return whether all values that are not finite are in rows of weight 0, which a fit may ignore."""
    weight, spoilt = case.weight, ~np.isfinite(case.numbers.astype(float)).all(axis=1)
    return weight is not None and len(weight) == case.rows and bool(spoilt.any()) and not weight[spoilt].any()


def unchanged(given: Any, made_again: Any) -> None:
    if isinstance(given, np.ndarray):
        if given.dtype == object:  # where NaN is not itself
            given, made_again = given.astype(str), made_again.astype(str)
        np.testing.assert_array_equal(given, made_again)
    elif sp.issparse(given):
        assert given.format == made_again.format
        np.testing.assert_array_equal(dense(given), dense(made_again))
    elif isinstance(given, list):
        assert str(given) == str(made_again)
    else:  # to pandas, as Arrow's NaN is not itself
        pandas = [frame.to_pandas() if hasattr(frame, "to_pandas") else frame for frame in (given, made_again)]
        assert pandas[0].equals(pandas[1])


def certified(model: Any) -> None:
    certificate = getattr(model, "certificate_", None)
    if certificate is None:
        return
    assert certificate.sentence
    assert certificate.kind
    assert not np.isnan(certificate.value), "a certificate without a value proves nothing"
    assert certificate.holds == (certificate.value <= certificate.tolerance)


def sensible(subject: Subject, model: Any, case: Case, said: dict[str, Any]) -> None:
    for name, answer in said.items():
        assert len(answer) == case.rows, (name, answer.shape)
    if subject.learns == "classes":
        probabilities(said)
        if "predict" in said and "predict_proba" in said and hasattr(model, "classes_"):
            assert said["predict"].ndim == 2 or set(said["predict"].tolist()) <= {
                *model.classes_.tolist(),
                -1,
                "reject",
            }
    elif subject.learns == "numbers":
        # a row of no weight may be anywhere: exp(η) of a Poisson model is beyond all numbers there, as scikit-learn's
        counted = ... if case.weight is None or not subject.weighted else case.weight > 0
        finite(said["predict"][counted], "predict")
    elif "score_samples" in said:
        assert not np.isnan(said["score_samples"]).any()


def probabilities(said: dict[str, Any]) -> None:
    if (shares := said.get("predict_proba")) is None:
        return
    finite(shares, "predict_proba")
    assert (shares >= 0).all()
    assert (shares <= 1 + 1e-6).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, atol=1e-5 if shares.dtype == np.float32 else 1e-9)


def finite(answer: Any, name: str) -> None:
    if answer.dtype.kind == "f":
        assert np.isfinite(answer).all(), f"{name} says {answer[~np.isfinite(answer)][:3]}"


def travels(model: Any, X: Any, said: dict[str, Any]) -> None:
    """Pickled, saved and loaded it says the same; a clone has the same parameters, and nothing learnt."""
    to_rounding = 1e-12  # of products of matrices, which may depend on where they lie in memory
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        mercer.save(model, path)
        for arrived in (pickle.loads(pickle.dumps(model)), mercer.load(path)):
            found = answers(arrived, X)
            assert found.keys() == said.keys()
            close(found, said, to_rounding)
    assert clone(model).get_params(deep=False).keys() == model.get_params(deep=False).keys()
    assert repr(clone(model)) == repr(clone(clone(model)))


def accepts_input_of_counterpart(subject: Subject, option: int, case: Case, rejection: Rejected) -> None:
    """Check that input that scikit-learn fits with finite results is not rejected, except where documented."""
    twin = subject.twin(option)
    if twin is None or is_documented(rejection) or is_of_a_sign_rounded_away(subject, case, rejection):
        return
    if twin.get_params().get("max_iter") == -1:  # libsvm, which may go on for ever
        twin.set_params(max_iter=100_000)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fit(twin, subject, case)
            said = answers(
                twin, case.X, ("predict_proba", "decision_function", "predict", "score_samples", "transform")
            )
    except Exception:
        return
    if all_finite(said):
        raise AssertionError(f"scikit-learn fits it, we do not: {rejection}") from rejection


def all_finite(said: dict[str, Any]) -> bool:
    return all(np.isfinite(answer).all() for answer in said.values() if answer.dtype.kind == "f")


#: what docs/decisions/0005-deviations-from-scikit-learn.md says is rejected though scikit-learn takes it, by a part of
#: our sentence
DOCUMENTED = (
    "Negative values in data passed to `sample_weight`",
    "with binarize=None the data must lie between 0 and 1",
    "covariance of all classes together is singular",  # where its rounding happens to leave an inverse
    "the covariance of class ",  # likewise, of QuadraticDiscriminantAnalysis
    "is not full rank",  # where a variance below `tol` is lost in its rounding, with columns of 1e140
    "is required to leave one out",  # RidgeCV of one row: there is nothing to choose a penalty by
    "Input sample_weight contains",  # NaN or infinity, with which libsvm leaves rows out
    "sample_weight and X have incompatible shapes: (0,)",  # an empty one is none to libsvm
    "but categories are coded 0, 1, 2",  # -0.5, which scikit-learn cuts off to 0
    "categories are coded 0, 1, 2, … without gaps",  # 1e8, of which it makes tables of gigabytes
    # numbers about 1e150 and more, of which it makes some answer or other
    "too large for float64",
    "overflows float64; divide the columns by their scale",
    "from which gamma='scale' has no number",
    # and 1e-150: Ledoit and Wolf's shrinkage reads all rows once
    "their fourth powers overflow or underflow float64",
)
#: and what a model that was fitted cannot say
DOCUMENTED_AFTERWARDS = (
    "pass a var_smoothing above",
    "is beyond float64",
    "is infinite with smooth_idf=False, and that of too large a count may be",
    "compares histograms, whose numbers are 0 or more",  # rows of weight 0, which no fit checks
)


def is_documented(rejection: Rejected, sentences: tuple[str, ...] = DOCUMENTED) -> bool:
    return any(sentence in str(rejection) for sentence in sentences)


def is_of_a_sign_rounded_away(subject: Subject, case: Case, rejection: Rejected) -> bool:
    """Return whether a response such as -1e-150 was rejected, which scikit-learn rounds to 0 with float32 rows.

    It rounds responses to the type of the rows before it looks at their range; this is documented, too.
    """
    if subject.learns != "numbers" or case.dtype != "float32" or "valid range of the loss" not in str(rejection):
        return False
    response = case.response
    nearly_zero = (response < 0) & (response > -float(np.finfo(np.float32).smallest_subnormal) / 2)
    return bool(nearly_zero.any())


# -- harmless numbers, fitted in several ways --------------------------------------------------------------------------


def fitted(subject: Subject, option: int, X: Any, y: Any, weight: Any) -> Any:
    given = (X,) if y is None else (X, y)
    extra = {} if weight is None or not subject.weighted else {"sample_weight": weight}
    return subject.exact_model(option).fit(*given, **extra)


def is_one_model(subject: Subject, option: int, case: Case, law: str) -> str:
    """The same rows in another form, order, number or batch make the same model."""
    numbers, weight = case.numbers, case.weight
    y = None if subject.learns == "rows" else subject.arguments(case)[1]
    try:
        with rejections_are_sentences():
            model = fitted(subject, option, numbers, y, weight)
            said = answers(model, numbers, comparable(subject, y, weight))
    except Rejected:
        return "rejected"
    try:
        with rejections_are_sentences():
            other, X, digits = LAWS[law](subject, option, case, numbers, y, weight)
            if other is None:
                return f"{law}: says nothing"
            again = other if isinstance(other, dict) else answers(other, X, tuple(said))
            digits = max(digits, rounding_of_shares(model, numbers))
    except Rejected as rejection:
        if law == "form":  # models without support for sparse matrices reject them
            return "form: rejected"
        raise AssertionError(f"{law}: {rejection}") from rejection
    if not said.keys() & again.keys():  # LinearSVC, say, of a class without weight: held, but for nothing
        return f"{law}: says nothing"
    if option in subject.many_optima and weight is not None:
        said, again = ({name: answer[weight > 0] for name, answer in one.items()} for one in (said, again))
    close(again, said, digits)
    return law


def rounding_of_shares(model: Any, numbers: Any) -> float:
    """Bound the error of a share by the last digits of log p(x, y) of the best class: shares are exp of differences.

    Where a column is constant in a class, its variance there is but what smoothing adds, 1e-9 of that of all rows: a
    row with another value, in some column or other for every class, has logarithms of 5e9, which end at 1e-6.
    """
    if not hasattr(model, "predict_joint_log_proba"):
        return 0.0
    try:
        with rejections_are_sentences():
            best = np.max(model.predict_joint_log_proba(numbers), axis=1)
    except Rejected:  # a singular covariance has no density, although its regular part separates classes
        return 0.0
    return 16 * float(np.spacing(np.abs(best[np.isfinite(best)]).max(initial=0.0)))


def comparable(subject: Subject, y: Any, weight: Any) -> tuple[str, ...]:
    """Return the results in which two fits of one model must agree.

    Of a class without weight only the shares: its coefficients go to −∞, and the directions that tell it from others
    are any.
    """
    methods = set(SMOOTH) - set(subject.not_compared)
    if subject.learns != "classes":
        methods.add("predict")
    elif weight is not None and len(np.unique(y[weight > 0])) < len(np.unique(y)):
        methods -= {"decision_function", "transform"}
    return tuple(methods)


def in_another_form(subject: Subject, option: int, case: Case, numbers: Any, y: Any, weight: Any) -> Any:
    X = in_form(numbers, case.form)
    return fitted(subject, option, X, y, weight), X, subject.digits


def in_another_order(subject: Subject, option: int, case: Case, numbers: Any, y: Any, weight: Any) -> Any:
    order = np.random.default_rng(case.seed + 3).permutation(len(numbers))
    shuffled = [None if values is None else values[order] for values in (numbers, y, weight)]
    model = fitted(subject, option, *shuffled)
    return (model, numbers, subject.digits) if has_one_intercept(model, shuffled[2]) else (None, None, None)


def with_rows_for_weights(subject: Subject, option: int, case: Case, numbers: Any, y: Any, weight: Any) -> Any:
    """Weights of 0, 1, 2 and 3 are rows absent, once, twice and thrice."""
    if weight is None or option:
        return None, None, None
    times = np.repeat(np.arange(len(numbers)), weight.astype(int))
    if subject.learns == "classes" and len(np.unique(y[times])) < len(np.unique(y)):  # a class stays one without weight
        return None, None, None
    return fitted(subject, option, numbers[times], None if y is None else y[times], None), numbers, subject.digits


def in_batches(subject: Subject, option: int, case: Case, numbers: Any, y: Any, weight: Any) -> Any:
    """Half merged with half is the whole; and forgetting one more batch undoes it."""
    half = len(numbers) // 2
    parts = []
    for rows in (slice(None, half), slice(half, None)):
        values = (numbers[rows], None if y is None else y[rows], None if weight is None else weight[rows])
        parts.append(values)
    if y is not None and any(len(np.unique(part[1])) < len(np.unique(y)) for part in parts):
        return None, None, None
    try:
        with rejections_are_sentences():
            models = [fitted(subject, option, *part) for part in parts]
    except Rejected:  # a half may be too small
        return None, None, None
    whole = models[0].merge(models[1])
    whole = models[0] if whole is None else whole
    if subject.forgets:
        extra = {} if weight is None else {"sample_weight": weight[:half]}
        whole.partial_fit(numbers[:half], y[:half], **extra)
        whole.forget(numbers[:half], y[:half], **extra)
    return whole, numbers, max(subject.digits, 1e-7)


def agrees_with_counterpart(subject: Subject, option: int, case: Case, numbers: Any, y: Any, weight: Any) -> Any:
    twin = subject.twin(option)
    # scikit-learn's saga may stop far from the optimum, however small `tol` is, and its sag diverge
    if twin is None or subject.options[option].get("solver") in ("sag", "saga"):
        return None, None, None
    twin.set_params(**{k: v for k, v in subject.exactly if k in twin.get_params()})
    if subject.learns == "classes" and twin.get_params().get("solver") == "lbfgs":
        # its lbfgs stops without a warning where the objective hardly changes: with C=1e6 at a gradient of 0.5, which
        # leaves decisions half a percent from the optimum; Newton's method gets there, or says that it did not
        twin.set_params(solver="newton-cholesky")
    given = (numbers,) if y is None else (numbers, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", ConvergenceWarning)  # who has not arrived is not compared with
        warnings.simplefilter("error", LinAlgWarning)  # nor who goes on by lbfgs
        try:
            twin.fit(*given, **({} if weight is None or not subject.weighted else {"sample_weight": weight}))
            said = answers(twin, numbers, (*SMOOTH, "predict"))
        except Exception:
            return None, None, None
    if not all_finite(said) or not one_optimum(subject, twin, weight) or is_singular_unseen(twin, numbers):
        return None, None, None
    said.pop("transform" if subject.learns == "classes" else "", None)  # directions, whose signs are anyhow
    return said, numbers, subject.twin_digits


def one_optimum(subject: Subject, twin: Any, weight: Any) -> bool:
    """Return whether the optimum is not unique: penalties with equal scores of folds, or an interval of intercepts.

    And every class has some weight: without, ours says so, or keeps the class, and liblinear loses it.
    """
    if hasattr(twin, "Cs_") or (subject.learns == "classes" and weight is not None and not (weight > 0).all()):
        return False
    return has_one_intercept(twin, weight)


def is_singular_unseen(twin: Any, numbers: Any) -> bool:
    """Return whether the model is scikit-learn's Ridge without a penalty on linearly dependent columns.

    It solves the normal equations by Cholesky, which may notice only rounding where there is no curvature: predictions
    of 20 rows with 6 different values among them are then off by half of their spread.
    """
    if not isinstance(twin, linear_model.Ridge) or twin.alpha != 0:
        return False
    return bool(np.linalg.matrix_rank(numbers - numbers.mean(axis=0)) < numbers.shape[1])


def has_one_intercept(model: Any, weight: Any) -> bool:
    """Where every support vector is at its bound, an interval of them is optimal."""
    if not hasattr(model, "dual_coef_") or not hasattr(model, "support_"):
        return True
    price = model.C if weight is None else model.C * weight[model.support_]
    return bool((np.abs(model.dual_coef_) < price * (1 - 1e-6)).any())


def laws_of(subject: Subject) -> list[str]:
    """Return the laws that apply to the subject."""
    says = {
        "form": True,
        "order": subject.any_order,
        "weights": subject.weighted and subject.weight_is_number,
        "batches": subject.merges,
        "scikit-learn": subject.twin() is not None,
    }
    return [law for law in LAWS if says[law]]


LAWS = {
    "form": in_another_form,
    "order": in_another_order,
    "weights": with_rows_for_weights,
    "batches": in_batches,
    "scikit-learn": agrees_with_counterpart,
}
