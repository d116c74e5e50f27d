"""Validation of what estimators are given (rows, targets, weights), and what all of them share in a fit.

Rows come as arrays, sparse matrices, data frames, `Encoded` rows, or tensors of torch. `check_rows` and `check_table`
read all but tensors, `check_tensor` reads these. None of them passes over the values: statistics and solvers find NaN
and infinity in their results, and call `check_finite` and its relatives to name the value.

A model fitted to tensors is the same model: its attributes are small arrays in main memory, so that it predicts arrays
and tensors on any device, and is saved like any other. Computations with rows stay on the device of the rows, and
results with an entry for each row are tensors there.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from numbers import Number
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import scipy.sparse as sp
from sklearn.utils import compute_class_weight as class_weights_of_sklearn
from sklearn.utils import validation
from sklearn.utils.validation import _check_sample_weight, check_array, check_X_y, column_or_1d, validate_data

from mercer._errors import (
    ColumnMismatchError,
    ColumnTypeError,
    DataError,
    DegenerateDataError,
    DeviceError,
    EmptyDataError,
    FitInterrupted,
    NonFiniteError,
    PenaltyError,
    SupportError,
)
from mercer._gpu import is_tensor, like, to_numpy
from mercer._memory import gigabytes
from mercer._stored import stored
from mercer._suggest import did_you_mean, quoted
from mercer._threads import ordered_map, row_blocks
from mercer._typing import Array
from mercer._warn import warn
from mercer.data.interleaving import rows_of_arrow
from mercer.data.labels import encode_labels
from mercer.data.select import fetch_relation
from mercer.data.storages.dense import unmask
from mercer.data.table import Table
from mercer.kernels.inputs import take
from mercer.matrices import Encoded
from mercer.optim.certificate import Solution
from mercer.report.wording import format_count

#: the types of rows that may be valid as they are given
PLAIN_TYPES = frozenset({np.ndarray, sp.csr_matrix, sp.csr_array})
#: the types of parameters that `validate_params` compares with those of the last fit, also inside a tuple
SIMPLE_TYPES = frozenset({type(None), bool, int, float, str, type})

#: error message for weights that are all zero
NO_WEIGHT = "Sample weights must contain at least one non-zero number. All are zero; give some rows a weight above 0."

# ---------------------------------------------------------------------------------------------------------------------
# The state of an estimator
# ---------------------------------------------------------------------------------------------------------------------


@stored()
@dataclass(frozen=True)
class Plan:
    """The path that a fit took.

    Attributes
    ----------
    path : str
        The algorithm.
    dtype : str
        The type of the numbers.
    blocks, threads : int
        Blocks of rows, and threads that worked on them.
    exact : bool
        False if the model was approximated.
    device : str
        "cpu", or the GPU.
    source : str or None
        The source of the rows if they were not in memory.
    bytes : int or None
        Size of the source, if it is known.
    passes : int
        Passes over the source.
    skipped : tuple of str
        Damaged pieces of the source that were left out.
    cluster : str or None
        The cluster on which the passes ran, if not in this process.
    """

    path: str
    dtype: str
    blocks: int
    threads: int
    exact: bool = True
    device: str = "cpu"
    source: str | None = None
    bytes: int | None = None
    passes: int = 0
    skipped: tuple[str, ...] = ()
    cluster: str | None = None

    def where(self, X: Any) -> Plan:
        """Return the same plan on the device of X."""
        return replace(self, device=str(X.device)) if is_tensor(X) else self

    def __str__(self) -> str:
        kind = "exact" if self.exact else "approximate"
        where = f"{format_count(self.blocks, 'block')} on {format_count(self.threads, 'thread')}"
        text = f"{self.path}; {kind}, {self.dtype}, {where}, {self.device}"
        if self.source is not None:
            size = "" if self.bytes is None else f" of {gigabytes(self.bytes)}"
            where = "" if self.cluster is None else f" on {self.cluster}"
            text += f"; {format_count(self.passes, 'pass')} over {self.source}{size}{where}"
        return text + (f"; skipped {', '.join(self.skipped)}" if self.skipped else "")


def tensor_plan(path: str, X: Any, *, exact: bool = True, blocks: int = 1) -> Plan:
    """Return the plan of a fit to a tensor."""
    return Plan(path, str(X.dtype).removeprefix("torch."), blocks, 1, exact, str(X.device))


@contextmanager
def restore_on_failure(estimator: Any) -> Iterator[None]:
    """Restore every attribute if the body raises, so that a failed fit leaves the estimator as it was.

    An interrupted fit is kept: it has stored the best model so far, with a certificate that does not hold.
    """
    before = dict(vars(estimator))
    try:
        yield
    except FitInterrupted:
        raise
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


#: the simple parameters, with their types, that a class accepted last
_accepted_params: WeakKeyDictionary[type, Any] = WeakKeyDictionary()


def validate_params(estimator: Any) -> None:
    """Run `_validate_params` of an estimator, unless all parameters are simple and equal to the last ones of its class.

    It takes 0.05 to 0.1 ms, most of it to read the signature of the class and its constraints.
    """
    cls: Any = type(estimator)
    values = [getattr(estimator, name) for name in _param_names(cls)]
    single = [each for value in values for each in (value if type(value) is tuple else (value,))]
    types = [type(value) for value in single]  # 1, 1.0 and True are equal
    key = (values, types) if SIMPLE_TYPES.issuperset(types) else None
    if key is None or _accepted_params.get(cls) != key:
        estimator._validate_params()
        _accepted_params[cls] = key


@cache
def _param_names(cls: Any) -> list[str]:
    names: list[str] = cls._get_param_names()
    return names


def check_is_fitted(estimator: Any, attributes: str | None = None, *, msg: str | None = None) -> None:
    """Run scikit-learn's `check_is_fitted`, which goes through all attributes, unless `n_features_in_` is one."""
    if attributes or "n_features_in_" not in vars(estimator) or hasattr(estimator, "__sklearn_is_fitted__"):
        validation.check_is_fitted(estimator, attributes, msg=msg)


#: message of an interrupted fit
STOPPED = "stopped by the user; the best coefficients are kept."


def raise_if_interrupted(solution: Solution) -> None:
    """Raise `FitInterrupted` if Ctrl-C ended the search: the last step of a fit, when the estimator has stored it."""
    if solution.interrupted:
        raise FitInterrupted(STOPPED, solution)


Completed = TypeVar("Completed")


def complete_unless_interrupted(solution: Solution, complete: Callable[[], Completed]) -> Completed | None:
    """Return `complete()`, the work after a search; None if Ctrl-C ended the search, or ends this work."""
    if solution.interrupted:
        return None
    try:
        return complete()
    except KeyboardInterrupt:
        return None


def forget_fit(estimator: Any) -> None:
    """Delete the fitted attributes of the last fit; the next one may publish others."""
    for name in [name for name in vars(estimator) if name.endswith("_")]:
        delattr(estimator, name)


def publish(estimator: Any, **attributes: Array) -> None:
    """Set fitted attributes in the precision of the data, as scikit-learn does; what scores rows keeps all digits."""
    dtype = np.float32 if estimator.plan_.dtype == "float32" else np.float64
    for name, value in attributes.items():
        setattr(estimator, name, cast_to_precision(value, dtype))


def cast_to_precision(value: Array, dtype: Any) -> Array:
    """Cast values to a type, unless one of them overflows it: infinity would not be a coefficient."""
    if value.dtype == dtype:
        return value
    with np.errstate(over="ignore"):
        narrow = value.astype(dtype, copy=False)
    return narrow if np.array_equal(np.isfinite(narrow), np.isfinite(value)) else value


def column_names(estimator: Any) -> list[str]:
    """Return the names of the columns of the fit; x0, x1, … where they had none."""
    names = getattr(estimator, "feature_names_in_", None)
    return [f"x{j}" for j in range(estimator.n_features_in_)] if names is None else [str(name) for name in names]


def adopt_columns(estimator: Any, fitted: Any) -> None:
    """Copy the number and the names of columns from a fitted estimator, names only where it has some."""
    for name in ("n_features_in_", "feature_names_in_"):
        vars(estimator).pop(name, None)
        if hasattr(fitted, name):
            setattr(estimator, name, getattr(fitted, name))


def find_column(key: Any, names: Sequence[str], parameter: str) -> int:
    """Return the position of the column whose name or number a parameter gives; negative numbers count from the end."""
    no_column = f"{parameter} names column {key!r}, but there is no such column"
    if isinstance(key, str):
        if key not in names:
            raise ColumnMismatchError(f"{no_column}. {did_you_mean(key, names)}")
        return names.index(key)
    try:
        return range(len(names))[operator.index(key)]
    except (IndexError, TypeError):
        raise ColumnMismatchError(f"{no_column}: there are {len(names)} columns, counted from 0.") from None


# ---------------------------------------------------------------------------------------------------------------------
# Rows in main memory
# ---------------------------------------------------------------------------------------------------------------------


def check_rows(estimator: Any, X: Any, y: Any = None, *, reset: bool, codes: bool = False, **options: Any) -> Any:
    """Run scikit-learn's `validate_data` without its pass over the values, and with more precise errors.

    `Encoded` rows are returned without any change where `codes` is True; otherwise they become a sparse matrix, or an
    array if the estimator takes none.
    """
    if type(X) in PLAIN_TYPES and _is_valid_as_given(estimator, X, y, reset=reset, **options):
        if reset:
            vars(estimator).pop("feature_names_in_", None)
            estimator.n_features_in_ = X.shape[1]
        return X if y is None else (X, y)
    X, y = move_to_main_memory(type(estimator).__name__, X=X, y=y)
    options.setdefault("accept_sparse", "csr")
    options.setdefault("ensure_all_finite", False)
    numeric = options.get("y_numeric", False)
    try:
        if isinstance(X, Encoded):
            checked = _check_encoded(estimator, X, y, reset=reset, codes=codes, **options)
        else:
            checked = _validate_data(estimator, X, y, reset=reset, **options)
            checked = _to_numbers(checked) if y is None else (_to_numbers(checked[0]), checked[1])
        if numeric and y is not None and checked[1].dtype.kind in "US":
            checked = (checked[0], checked[1].astype(np.float64))  # scikit-learn leaves strings as they are
    except (TypeError, ValueError) as error:
        better = _explain_error(error, X, y, estimator=type(estimator).__name__, numeric=numeric)
        if better is error:
            raise
        raise better from None
    if numeric and getattr(y, "dtype", "O") == "O":  # None is missing, too, but scikit-learn does not detect it
        check_target(y, numeric=True)
    return checked


def _is_valid_as_given(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    reset: bool,
    dtype: Any = "numeric",
    order: str | None = None,
    accept_sparse: Any = "csr",
    accept_large_sparse: bool = True,
    ensure_min_samples: int = 1,
    ensure_all_finite: bool = False,
    y_numeric: bool = False,
    multi_output: bool = False,
    **others: Any,
) -> bool:
    """Return whether scikit-learn's validation would return an array or CSR matrix of numbers, and y, as they are.

    It takes 0.1 ms, as long as the fit of a hundred rows, most of it to find out that an array is not a data frame.
    False if a condition does not hold, or is not tested here. The parameters are those of `validate_data`.
    """
    if any(others.values()) or X.ndim != 2 or not X.shape[1] or X.shape[0] < max(1, ensure_min_samples):
        return False
    if type(X) is np.ndarray:
        values, has_order = X, order is None or (order == "C" and X.flags.c_contiguous)
    else:
        small = X.indices.dtype == X.indptr.dtype == np.int32
        accepted = accept_sparse is True or (accept_sparse and "csr" in accept_sparse)
        values, has_order = X.data, accepted and (accept_large_sparse or small)
    if not has_order or values.dtype.kind not in "biuf":
        return False
    if dtype != "numeric" and (X.dtype not in dtype if isinstance(dtype, list) else X.dtype != dtype):
        return False
    if ensure_all_finite and not np.isfinite(values).all():
        return False
    known = getattr(estimator, "n_features_in_", X.shape[1])  # stateless transformers do not store it
    if not reset and (known != X.shape[1] or getattr(estimator, "feature_names_in_", None) is not None):
        return False
    if y is None:
        return True
    if type(y) is not np.ndarray or y.ndim == 0 or len(y) != X.shape[0] or not y.flags.c_contiguous:
        return False
    if y.ndim != 1 and not (multi_output and y.ndim == 2 and y.shape[1]):
        return False
    kinds = "biuf" if y_numeric or multi_output else "biufU"
    return y.dtype.kind in kinds and (y.dtype.kind != "f" or bool(np.isfinite(y).all()))


def check_table(estimator: Any, X: Any, y: Any = None, *, reset: bool, codes: bool = False) -> tuple[Any, Any]:
    """Check rows with columns of any type; return X as a table, without conversion, and y as a vector of labels.

    `Encoded` rows are returned without any change where `codes` is True; otherwise they become a table of numbers.
    """
    X, y = move_to_main_memory(type(estimator).__name__, X=X, y=y)
    if isinstance(X, Encoded):
        table = _check_encoded_table(estimator, X, reset=reset, codes=codes)
    else:
        table = _read_table(estimator, X, reset=reset)
    if y is not None:
        y = column_or_1d(y, warn=True)
        if len(y) != table.n_rows:
            raise DataError(
                f"Found input variables with inconsistent numbers of samples: {[table.n_rows, len(y)]}. Give one label "
                "for each row of X."
            )
    return table, y


def check_columns(estimator: Any, X: Any, *, reset: bool) -> Table:
    """Return X as a table whose dates and times are numbers, with the columns of the fit in their order."""
    (X,) = move_to_main_memory(type(estimator).__name__, X=X)
    return _read_table(estimator, X, reset=reset, dates=True)


def move_to_main_memory(estimator: str, **given: Any) -> tuple[Any, ...]:
    """Return tensors as arrays, a DuckDB relation as its rows, masked values as NaN, and anything else as it is.

    Nothing is fetched from a card: a tensor there raises a `DeviceError`.
    """
    for name, values in given.items():
        if is_tensor(values) and values.device.type != "cpu":
            raise DeviceError(
                f"{estimator} computes this in main memory, but {name} is on {values.device}: models do not move "
                f"tensors by themselves; give {name}.cpu()."
            )
    return tuple(
        to_numpy(v) if is_tensor(v) else fetch_relation(v) if _is_unknown_frame(v) else unmask(v)
        for v in given.values()
    )


def _is_unknown_frame(X: Any) -> bool:
    """Return whether X is a relation of DuckDB or a record batch of pyarrow; neither library is imported."""
    known = (("duckdb", "DuckDBPyRelation"), ("pyarrow", "RecordBatch"))
    return any(isinstance(X, getattr(sys.modules.get(library), name, ())) for library, name in known)


def _validate_data(estimator: Any, X: Any, y: Any, *, reset: bool, **options: Any) -> Any:
    """Run scikit-learn's `validate_data`, except for tables of pyarrow, which it converts one column at a time."""
    given = {} if y is None else {"y": y}
    if (rows := rows_of_arrow(X)) is None:
        return validate_data(estimator, X, **given, reset=reset, **options)
    validate_data(estimator, X, **given, reset=reset, skip_check_array=True)  # number and names of the columns
    if y is None:
        return check_array(rows, estimator=estimator, input_name="X", **options)
    return check_X_y(rows, y, estimator=estimator, **options)


def _to_numbers(X: Any) -> Any:
    """Convert objects to numbers; scikit-learn leaves them in frames of several types other than those of pandas."""
    return X.astype(np.float64) if X.dtype == object else X


def _read_table(estimator: Any, X: Any, *, reset: bool, dates: bool = False) -> Table:
    """Return X as a table with rows and columns, whose names are those of the fit."""
    table = Table.of(X, dates=dates)
    _check_not_empty((table.n_rows, table.n_columns), type(estimator).__name__)
    try:
        validate_data(estimator, table.native if dates else X, reset=reset, skip_check_array=True)
    except ValueError as mismatch:
        raise ColumnMismatchError(
            f"{str(mismatch).rstrip()}\nGive the columns of the fit, by the same names and in the same order."
        ) from None
    return table


def _explain_error(error: Exception, X: Any, y: Any, *, estimator: str, numeric: bool) -> Exception:
    """Return an error that names the row or column and the remedy, or scikit-learn's own if it is sufficient.

    Parameters
    ----------
    error : Exception
        The error that scikit-learn raised.
    X, y : array-like
        The data as they were given; y may be None.
    estimator : str
        The name of the estimator.
    numeric : bool
        Whether y should be numbers.
    """
    sentence = str(error)
    try:
        # the third is NumPy's message for pandas' NA
        if y is not None and sentence.startswith(
            ("Input y contains", "Input contains NaN", "boolean value of NA is ambiguous")
        ):
            check_target(y, numeric=numeric)
        if sentence.startswith(("could not convert string to float", "dtype='numeric' is not compatible")):
            return _explain_text(sentence, X, y, estimator, numeric=numeric)
        # dates, lists, and names that occur twice, for which tables have better messages
        if sentence.startswith(
            ("The DType", "setting an array element with a sequence", "Expected unique column names")
        ):
            table = Table.of(X)
            for column, kind in enumerate(table.kinds):
                if not kind.numeric:
                    table.coded(column)
    except DataError as better:
        return better
    return error


def _explain_text(sentence: str, X: Any, y: Any, estimator: str, *, numeric: bool) -> Exception:
    """Return the error for text where numbers are needed, with the first value that cannot be read as a number."""
    table, sentence = Table.of(X), sentence.rstrip(".")
    for column, kind in enumerate(table.kinds):
        words = [] if kind.numeric else table.coded(column).labels.tolist()
        if (word := _first_not_a_number(words)) is not None:
            return ColumnTypeError(
                f"{sentence}. Column {table.names[column]!r} holds text or categories such as {quoted(word)}, but "
                f"{estimator} takes numbers only. Put TableFeatures or CategoryFeatures before "
                "it in a pipeline, leave the column out, or use GLM, or for classes NaiveBayes, which take it as it is."
            )
    if numeric and y is not None and (word := _first_not_a_number(np.ravel(np.asarray(y, dtype=object)))) is not None:
        return DataError(
            f"{sentence}. y holds {quoted(word)}, but {estimator} predicts numbers; convert y, or use a classifier "
            "such as LogisticRegression."
        )
    return DataError(f"{sentence}. X holds numbers that are written as text; convert it, e.g. with X.astype(float).")


def _first_not_a_number(words: Iterable[Any]) -> Any:
    for word in words:
        if word is None:
            continue
        try:
            float(word)
        except (TypeError, ValueError):
            return word
    return None


def is_sparse(X: Any) -> bool:
    """Do as `scipy.sparse.issparse`, but without its type guard, after which mypy would forget the type of X."""
    return bool(sp.issparse(X))


# ---------------------------------------------------------------------------------------------------------------------
# Encoded rows
# ---------------------------------------------------------------------------------------------------------------------


def _check_encoded(estimator: Any, X: Encoded, y: Any, *, reset: bool, codes: bool, **options: Any) -> Any:
    """Validate encoded rows: unchanged for `codes`, else as a sparse matrix if the estimator takes one, or an array."""
    _check_encoded_columns(estimator, X, reset=reset)
    options = {"estimator": estimator, **options}
    if not codes:
        matrix = X.tocsr() if options["accept_sparse"] else X.toarray()
        return check_array(matrix, input_name="X", **options) if y is None else check_X_y(matrix, y, **options)
    if y is None:
        return X
    placeholder = np.broadcast_to(0.0, X.shape)
    return X, check_X_y(placeholder, y, **options)[1]


def _check_encoded_table(estimator: Any, X: Encoded, *, reset: bool, codes: bool) -> Any:
    """Validate encoded rows: unchanged for `codes`, else as a table of numbers."""
    _check_encoded_columns(estimator, X, reset=reset)
    if codes:
        return X
    table = Table.of(X.toarray())
    return table if X.given_names is None else replace(table, column_names=tuple(X.given_names), named=True)


def _check_not_empty(shape: tuple[int, ...], estimator: str) -> None:
    """Raise an error in the words of scikit-learn if there are no rows or no columns."""
    for size, what in zip(shape, ("sample(s)", "feature(s)"), strict=True):
        if not size:
            raise EmptyDataError(
                f"Found array with 0 {what} (shape={tuple(shape)}) while a minimum of 1 is required by {estimator}. "
                "Check how X was selected or read."
            )


def _check_encoded_columns(estimator: Any, X: Encoded, *, reset: bool) -> None:
    """Store the number and the names of the columns if `reset`, else compare them with those of the fit."""
    name = type(estimator).__name__
    _check_not_empty(X.shape, name)
    if reset:
        estimator.n_features_in_ = X.shape[1]
        estimator.__dict__.pop("feature_names_in_", None)
        if X.given_names is not None:
            estimator.feature_names_in_ = np.asarray(X.given_names, dtype=object)
        return
    if X.shape[1] != estimator.n_features_in_:
        raise ColumnMismatchError(
            f"X has {X.shape[1]} features, but {name} is expecting {estimator.n_features_in_} features as input. "
            "Encode the rows with the transformer of the fit."
        )
    names = getattr(estimator, "feature_names_in_", None)
    if names is None or X.given_names is None or X.given_names is names:
        return
    differ = np.flatnonzero(np.asarray(X.given_names, dtype=object) != names)
    if len(differ):
        column = int(differ[0])
        raise ColumnMismatchError(
            f"The feature names should match those that were passed during fit. Column {column} is "
            f"{X.given_names[column]!r}, but was {names[column]!r}; encode the rows with the transformer of the fit."
        )


# ---------------------------------------------------------------------------------------------------------------------
# Tensors
# ---------------------------------------------------------------------------------------------------------------------


def check_tensor(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Return rows as a matrix of float32 or float64 on their device, and store the number of columns if `reset`.

    The values are not checked here; see `check_finite`.
    """
    import torch

    name = type(estimator).__name__
    if X.layout != torch.strided or X.is_complex():
        raise DeviceError(f"{name} takes dense tensors of real numbers; give X.to_dense(), or an array.")
    if X.ndim != 2:
        raise DataError(
            f"Expected 2D array, got {X.ndim}D array instead: X has the shape {tuple(X.shape)}. Give X.reshape(-1, 1) "
            "if there is one column, and X.reshape(1, -1) if there is one row."
        )
    _check_not_empty(X.shape, name)
    if reset:
        estimator.n_features_in_ = int(X.shape[1])
        estimator.__dict__.pop("feature_names_in_", None)
    elif X.shape[1] != estimator.n_features_in_:
        raise ColumnMismatchError(
            f"X has {X.shape[1]} features, but {name} is expecting {estimator.n_features_in_} features as input. Give "
            "the columns of the fit, in the same order."
        )
    return X.detach() if X.dtype in (torch.float32, torch.float64) else X.detach().to(working_dtype(X))


def working_dtype(X: Any) -> Any:
    """Return float32 for tensors of floating-point numbers, float64 for whole numbers."""
    import torch

    return torch.float32 if X.dtype.is_floating_point else torch.float64


def check_same_device(values: Any, X: Any, name: str) -> None:
    """Raise if `values` are a tensor on another device than X; arrays and lists can be moved there."""
    if is_tensor(values) and is_tensor(X) and values.device != X.device:
        raise DeviceError(
            f"X is on {X.device}, but {name} is on {values.device}: models do not move tensors by themselves; give "
            f"{name}.to(X.device)."
        )


def align_with_rows(values: Any, X: Any, name: str, *, dtype: Any = None) -> Any:
    """Return targets or weights, one for each row, on the device of X and of its type or the `dtype` given."""
    check_same_device(values, X, name)
    if is_tensor(values):
        values = values.detach()
    else:
        values = np.asarray(values)
        if values.dtype.kind not in "biuf":
            try:
                values = values.astype(np.float64)
            except (TypeError, ValueError):
                raise DataError(f"{name} holds {values.dtype} where numbers are needed; convert it to float.") from None
    numbers = like(values, X, dtype=dtype)
    if numbers.ndim == 0 or len(numbers) != len(X):
        raise DataError(
            f"Found input variables with inconsistent numbers of samples: {[len(X), numbers.numel()]}. Give one entry "
            f"of {name} for each row of X."
        )
    return numbers


def encode_tensor_labels(y: Any, X: Any) -> tuple[Array, Any]:
    """Return the sorted classes in main memory, and the number of each row's class on the device of X."""
    import torch

    check_same_device(y, X, "y")
    if is_tensor(y):
        distinct, codes = _distinct_labels(y)
        classes = encode_labels(to_numpy(distinct))[0]  # raises where labels are not classes
    else:
        classes, places = encode_labels(column_or_1d(y, warn=True))
        codes = like(places, X, dtype=torch.int64)
    if len(codes) != len(X):
        raise DataError(
            f"Found input variables with inconsistent numbers of samples: {[len(X), len(codes)]}. Give one label for "
            "each row of X."
        )
    return classes, codes


def _distinct_labels(y: Any) -> tuple[Any, Any]:
    """Return the labels in ascending order, and the position of each row's label among them."""
    import torch

    if y.ndim != 1 and tuple(y.shape[1:]) != (1,):
        raise DataError(
            f"y should be a 1d array, got an array of shape {tuple(y.shape)} instead. Give one label per row."
        )
    if y.is_complex():
        raise DataError(f"Unknown label type: {y.dtype}. Give every row one of a few whole numbers.")
    if y.is_floating_point():
        if not bool(y.isfinite().all()):
            raise NonFiniteError("Input y contains NaN or infinity; drop the rows without a label.")
        y = y if y.dtype == torch.float64 else y.float()  # NumPy has no bfloat16
    y = y.detach().reshape(-1)
    if len(y) and bool(((y == (low := y.min())) | (second := y == (high := y.max()))).all()) and bool(low != high):
        return torch.stack([low, high]), second.long()  # two labels need no sorting
    distinct, codes = torch.unique(y, return_inverse=True)
    return distinct, codes


def decode_labels(classes: Array, codes: Any) -> Any:
    """Return labels by their codes: a tensor, or an array where labels are not numbers."""
    import torch

    if classes.dtype.kind in "biuf":
        return torch.as_tensor(np.array(classes), device=codes.device)[codes]
    return classes[to_numpy(codes)]


def best_class(scores: Any, classes: Array) -> Any:
    """Return the label of the highest score, or the second of two where the score is above 0; arrays or tensors."""
    if is_tensor(scores):
        return decode_labels(classes, scores.argmax(dim=1) if scores.ndim == 2 else (scores > 0).long())
    return np.asarray(classes[scores.argmax(axis=1) if scores.ndim == 2 else (scores > 0).astype(np.intp)])


def fetch_tensor(values: Any) -> Any:
    """Return a tensor as an array in main memory, and anything else as it is."""
    return to_numpy(values) if is_tensor(values) else values


def fetch_rows(rows: Any, numbers: Array) -> Any:
    """Return some rows, by their numbers, in main memory."""
    return fetch_tensor(take(rows, numbers))


# ---------------------------------------------------------------------------------------------------------------------
# Weights
# ---------------------------------------------------------------------------------------------------------------------


def check_weight(sample_weight: Any, X: Any, *, forgets: bool = False, part: bool = False) -> Array | None:
    """Return weights as float64, one for each row, none negative and some above 0; None stays None.

    Parameters
    ----------
    sample_weight : array-like, number or None
        The weights.
    X : array-like
        The rows, or anything else of their length.
    forgets : bool, default=False
        Whether the model has a method `forget`, which the error for a negative weight then mentions.
    part : bool, default=False
        Whether the rows are a part of more, so that all weights may be 0.
    """
    if sample_weight is None:
        return None
    (sample_weight,) = move_to_main_memory("the model", sample_weight=sample_weight)
    try:
        weight: Array = _check_sample_weight(sample_weight, X, dtype=np.float64, allow_all_zero_weights=True)
    except ValueError as error:
        raise DataError(f"{error} Give one weight for each row.") from None
    if (negative := weight < 0).any():
        row = int(np.argmax(negative))
        advice = ", and take rows out again with `forget`" if forgets else ""
        raise DataError(
            f"Negative values in data passed to `sample_weight`. Row {row} has the weight {weight[row]:g}; give 0 or "
            f"more to each row{advice}."
        )
    if not (part or weight.any()):
        raise DataError(NO_WEIGHT)
    return weight


def compute_class_weight(class_weight: Any, *, classes: Array, y: Any, sample_weight: Any = None) -> Array:
    """Do as scikit-learn's function, which takes longer than a small fit even where all weights are 1."""
    if class_weight is None:
        return np.ones(len(classes))
    weights: Array = class_weights_of_sklearn(class_weight, classes=classes, y=y, sample_weight=sample_weight)
    return weights


def check_tensor_weight(sample_weight: Any, X: Any) -> Any:
    """Do as `check_weight` for tensors: return float64 on the device of X; None stays None."""
    import torch

    if sample_weight is None:
        return None
    if isinstance(sample_weight, Number):
        sample_weight = np.full(len(X), sample_weight)
    weight = align_with_rows(sample_weight, X, "sample_weight", dtype=torch.float64)
    if weight.ndim != 1 or not bool(((weight >= 0) & weight.isfinite()).all() & weight.any()):
        check_weight(to_numpy(weight), range(len(X)))  # raises the error that applies
    return weight


def weight_in_fold(train: Array, n: int, weight: Array | None) -> Array:
    """Return the weights of n rows for training on a fold: 0 for rows outside of it, so that no row is copied."""
    chosen = np.bincount(np.arange(n)[train], minlength=n).astype(np.float64)
    chosen = chosen if weight is None else chosen * weight
    if not chosen.any():
        raise DataError(
            "a fold has no rows, or all its rows have the weight zero, so that there is nothing to learn from; use "
            "fewer folds, or shuffle them."
        )
    return chosen


# ---------------------------------------------------------------------------------------------------------------------
# Targets and parameters
# ---------------------------------------------------------------------------------------------------------------------


def check_has_target(estimator: Any, y: Any, what: str = "target") -> None:
    """Raise if y is None; `what` is what y has for every row."""
    if y is None:
        raise DataError(
            f"This {type(estimator).__name__} estimator requires y to be passed, but the target y is None. Pass the "
            f"{what} of every row."
        )


def check_two_classes(classes: Array, advice: str = "") -> None:
    """Raise if there are fewer than two classes."""
    if len(classes) < 2:
        raise DataError(
            f"The number of classes has to be greater than one; got {len(classes)} class. All rows are of class "
            f"{classes.tolist()[0]!r}; add rows of another{advice}."
        )


def check_two_classes_of_solver(classes: Array) -> None:
    """Raise as `check_two_classes`, in the words of liblinear and of scikit-learn's solvers of logistic regression."""
    if len(classes) < 2:
        raise DataError(
            "This solver needs samples of at least 2 classes in the data, but the data contains only one class: "
            f"{classes.tolist()[0]!r}. Check how y was selected."
        )


def warn_of_many_classes(classes: Array, rows: int) -> None:
    """Warn of more classes than half the rows, which may be numbers to predict; as in scikit-learn, from 21 rows."""
    if rows > 20 and len(classes) > round(0.5 * rows):
        warn(
            "The number of unique classes is greater than 50% of the number of samples. `y` could represent a "
            f"regression problem, not a classification problem. There are {len(classes)} classes among {rows} rows.",
            UserWarning,
        )


def check_target(y: Any, *, numeric: bool) -> None:
    """Raise an error that names the first row of y that is missing or infinite, if there is one."""
    if not numeric:
        encode_labels(y)
        return
    try:
        values = np.asarray(y, dtype=float).reshape(len(y), -1)
    except (TypeError, ValueError):  # text, or pandas' NA
        return
    if not (finite := np.isfinite(values).all(axis=1)).all():
        row = int(np.argmin(finite))
        what = "NaN" if np.isnan(values[row]).any() else f"infinity or a value too large for {values.dtype!r}"
        raise NonFiniteError(f"Input y contains {what}. Row {row} has y = {values[row].squeeze()}; drop such rows.")


def check_finite_targets(y: Any) -> Array:
    """Return targets as float64; raise where they are not finite numbers."""
    try:
        numbers: Array = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"the targets y are not numbers ({error}); encode them, or use a classifier.") from error
    if not np.isfinite(numbers).all():
        row = int(np.argwhere(~np.isfinite(numbers))[0][0])
        raise NonFiniteError(f"Input y contains NaN or infinity in row {row}. Leave the row out, or impute its target.")
    return numbers


def check_alphas(alphas: Any) -> None:
    """Raise if there are no strengths of the penalty to choose from."""
    if not len(alphas):
        raise PenaltyError("alphas is empty; give at least one strength of the penalty to choose from.")


def check_start(*coefficients: Any) -> None:
    """Raise if initial coefficients hold NaN or infinity: no step leads away from them."""
    if not all(np.isfinite(each).all() for each in coefficients):
        raise NonFiniteError(
            "the coefficients to begin with hold NaN or infinity: set warm_start=False, or give others (coef_init)."
        )


# ---------------------------------------------------------------------------------------------------------------------
# Values that are NaN, infinite or negative
# ---------------------------------------------------------------------------------------------------------------------

#: entries that one thread adds up: with fewer, starting threads costs more than they gain
ENTRIES_PER_SUM = 1 << 20


def check_finite(estimator: Any, X: Any) -> None:
    """Raise an error that names the first value of an array or tensor that is not finite, if there is one."""
    if has_finite_sum(X):
        return
    names = column_names(estimator)
    if not is_tensor(X):
        check_finite_entries(X, names, type(estimator).__name__)
    elif (first := find_first(X, lambda values: ~np.isfinite(values))) is not None:
        row, column, value = first
        raise NonFiniteError(
            f"Input X contains {'NaN' if np.isnan(value) else 'infinity'}. Column {names[column]!r} is "
            f"{value} in row {row}; drop the row, or replace it by a number."
        )


def has_finite_sum(X: Any, *, entries_per_sum: int = ENTRIES_PER_SUM) -> bool:
    """Return whether the sum of all values is finite, so that each value is; that of large finite values may overflow.

    A sum needs no memory, as a mask would. It is not computed for encoded rows.
    """
    if is_tensor(X):
        import torch

        return bool(X.sum(dtype=torch.float64).isfinite())
    if isinstance(X, Encoded):
        return False
    values = X.data if is_sparse(X) else X
    parts = row_blocks(len(values), max(1, entries_per_sum // max(1, values[:1].size)))
    with np.errstate(over="ignore", invalid="ignore"):
        if len(parts) == 1:
            return bool(np.isfinite(values.sum(dtype=np.float64)))
        return bool(np.isfinite(sum(ordered_map(lambda rows: values[rows].sum(dtype=np.float64), parts))))


def check_finite_entries(X: Any, names: list[str], estimator: str) -> None:
    """Raise an error that names the first value of X that is not finite, if there is one."""
    raise_if_any(
        lambda values: ~np.isfinite(values),
        X,
        names,
        gaps=f"{estimator} does not accept missing values encoded as NaN natively; drop such rows, or put "
        "TableFeatures() before it, which fills the gaps and says where they were",
    )


def check_no_infinity(X: Any, names: list[str], *, estimator: str, missing: bool = True) -> None:
    """Raise an error that names the first value that is infinite or, where `missing` is False, NaN."""
    raise_if_any(
        np.isinf if missing else lambda values: ~np.isfinite(values),
        X,
        names,
        gaps=f"{estimator} does not accept missing values encoded as NaN; drop or impute them, or use NaiveBayes, "
        "which integrates them out",
        unknown=", or by NaN if it is unknown" if missing else "",
    )


def raise_if_any(bad: Callable[[Array], Array], X: Any, names: list[str], *, gaps: str, unknown: str = "") -> None:
    """Raise an error that names the first NaN or infinity that is `bad`, if there is one.

    `gaps` is the advice for NaN, `unknown` what may replace an infinity beside a number.
    """
    if (first := find_first(X, bad)) is None:
        return
    row, column, value = first
    if np.isnan(value):
        raise NonFiniteError(
            f"Input X contains NaN. Column {names[column]!r} has a missing value in row {row}, and {gaps}."
        )
    raise NonFiniteError(
        f"Input X contains infinity or a value too large for {X.dtype!r}. Column {names[column]!r} is {value} in row "
        f"{row}; replace it by a number{unknown}."
    )


def check_non_negative(X: Any, names: list[str], *, estimator: str, expected: str) -> None:
    """Raise an error that names the first negative value, if there is one, and what was `expected`."""
    first = find_first(X, lambda values: values < 0)
    if first is not None:
        row, column, value = first
        raise SupportError(
            f"Negative values in data passed to {estimator} (input X). Column {names[column]!r} is {value} in row "
            f"{row}, but {expected}."
        )


def find_first(X: Any, bad: Callable[[Array], Array]) -> tuple[int, int, Any] | None:
    """Return row, column and value of the first entry that is `bad`, or None.

    For a sparse matrix `bad` is called with stored entries only, for a tensor with rows that are not finite.
    """
    if is_tensor(X):
        suspects = (~X.isfinite()).any(dim=1).nonzero()[:, 0]
        first = find_first(to_numpy(X[suspects]), bad)
        return first and (int(suspects[first[0]]), first[1], first[2])
    if isinstance(X, Encoded):
        return X.first_where(bad)
    if is_sparse(X):
        if not (places := bad(X.data)).any():
            return None
        entries, place = X.tocoo(), int(np.argmax(places))
        return int(entries.row[place]), int(entries.col[place]), entries.data[place]
    values = np.asarray(X)
    places = np.argwhere(bad(values))
    return (int(places[0, 0]), int(places[0, 1]), values[tuple(places[0])]) if len(places) else None


def check_coefficients(coef: Array, names: list[str]) -> None:
    """Raise if a coefficient overflows float64 because its column is too small."""
    if not (finite := np.isfinite(coef).all(axis=0)).all():
        column = int(np.argmin(finite))
        raise NonFiniteError(
            f"the coefficient of column {names[column]!r} is too large for float64, because its values are so small; "
            "multiply the column by 1e100, say."
        )


def check_spread(spread: Array, names: Sequence[str]) -> None:
    """Raise if the spread of a column, one number each, overflows float64."""
    if (wide := np.flatnonzero(~np.isfinite(spread))).size:
        raise DegenerateDataError(
            f"column {names[wide[0]]!r} is so wide that its variance is too large for float64; divide it by its "
            "largest value."
        )
