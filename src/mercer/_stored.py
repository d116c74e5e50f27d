"""Declarations of the fields of classes whose objects are stored in model files.

Compiled loops do not check the lengths of arrays, so that loaded objects must be verified first. `stored` declares the
fields of a class once, by name; fields with a sufficient annotation (a float, a tuple of strings, another class) can be
left out. An axis is a letter, which stands for the same length throughout an object:

    @stored(weights=floats("dm"), offset=floats("m"), shift=optional(floats("d")))
    @dataclass(frozen=True)
    class FourierMap: ...

Axes of a part are equated with axes of the whole by its declaration: `part_of(d="d", k="classes")`.
"""

from __future__ import annotations

import builtins
import dataclasses
import dis
import functools
import re
import sys
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

import numpy as np

from mercer._errors import MercerError, ModelFileError
from mercer._tags import register

#: errors of Python code with unexpected arguments
UNEXPLAINED = (ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError, TypeError)
#: estimators that were read from files, by identity (kernels are equal by value, and some have no hash)
_LOADED: WeakValueDictionary[int, Any] = WeakValueDictionary()
#: methods that replace everything that was loaded
FITTING = ("fit", "fit_transform", "fit_predict")
#: the mark of methods that have the guard
_GUARDED = "__guarded__"
#: lengths of axes by their letters
Sizes = dict[str, int]
#: the name under which a class keeps its declaration
DECLARATION = "__stored__"
#: types of numbers without arithmetic in numba, which no fit produces
UNCOMPUTED = (np.dtype(np.float16), np.dtype(np.longdouble))
#: integers of models are below this bound, because they are counted in 64 bits
INTEGER_BOUND = 1 << 63


class ContradictionError(Exception):
    """An error with the part of an object that contradicts its declaration, and the reason."""

    def __init__(self, why: str, path: str = "") -> None:
        super().__init__(why)
        self.why, self.path = why, path


def _accept(values: Sequence[Any]) -> None:
    """Accept any values."""


@dataclass
class Context:
    """The axes of the object to verify, those of its parts, and a check of values that may become keys of a dict."""

    sizes: Sizes
    sizes_of: Callable[[Any], Mapping[str, int]]
    verify_keys: Callable[[Sequence[Any]], None] = _accept

    def of_item(self) -> Context:
        """Return the context of one item of a list, without axes of other items, which begin with `_`."""
        outer = {axis: length for axis, length in self.sizes.items() if not axis.startswith("_")}
        return replace(self, sizes=outer)

    def bind(self, axis: str, length: int) -> None:
        """Set the length of an axis, or raise an error if the axis is a number or has another length."""
        token, extra = axis, 0
        if axis.isdigit():
            if length != int(axis):
                raise ContradictionError("has the wrong size")
            return
        if axis == ".":
            return
        for sign, factor in (("+", -1), ("-", 1)):
            if sign in axis:
                token, _, more = axis.partition(sign)
                extra = factor * int(more)
        if token.endswith("?"):  # as many as the axis has, or one for all
            if length == 1:
                return
            token = token[:-1]
        if length + extra < 0 or self.sizes.setdefault(token, length + extra) != length + extra:
            raise ContradictionError("has the wrong size")


class Check:
    """A check of a field; its methods raise a `ContradictionError`."""

    def verify(self, value: Any, context: Context) -> None:
        """Verify the kind and the sizes of a value."""

    def verify_range(self, value: Any, context: Context) -> None:
        """Verify the numbers in a value, after all sizes are known."""


def _tokens(axes: str) -> tuple[str, ...]:
    """Return the axes in a text: "kd", "k _c", "n+1", "k? d"."""
    return tuple(_AXIS.findall(axes))


#: an axis: a letter, `_` and a letter (an axis of one item of a list), a number or `.`; with `?` as many or one, with
#: + or − more or fewer
_AXIS = re.compile(r"(?:_?[a-z]|\d+|\.)(?:\?|[+-]\d+)?")


@dataclass(frozen=True)
class ArrayOf(Check):
    """An array of one kind of values, with its axes and the limits of its numbers."""

    kinds: str
    axes: tuple[str, ...] | None
    least: float | None = None
    most: float | None = None
    #: an axis whose indices the numbers are
    below: str | None = None
    finite: bool = False
    #: None, "rising" or "strictly"
    order: str | None = None
    #: whether compiled loops may read the array, which limits its type
    computed: bool = True

    def verify(self, value: Any, context: Context) -> None:
        if not isinstance(value, np.ndarray):
            raise ContradictionError("is not an array")
        if value.dtype.kind not in self.kinds or (self.computed and value.dtype in UNCOMPUTED):
            raise ContradictionError("has the wrong type")
        if self.axes is None:
            return
        if len(self.axes) != value.ndim:
            raise ContradictionError("has the wrong size")
        for axis, length in zip(self.axes, value.shape, strict=True):
            context.bind(axis, length)

    def verify_range(self, value: Any, context: Context) -> None:
        if not self.computed and value.dtype.kind in "iufO":
            context.verify_keys(value.ravel().tolist())
        if not value.size or value.dtype.kind not in "iufb":
            return
        if self.finite and not np.isfinite(value).all():
            raise ContradictionError("has numbers that are not finite")
        if self.least is not None and not (value >= self.least).all():
            raise ContradictionError(f"has numbers that are not {self.least} or more")
        if self.most is not None and not (value <= self.most).all():
            raise ContradictionError(f"has numbers that are not {self.most} or less")
        if self.below is not None and not int(value.max()) < context.sizes.get(self.below, 0):
            raise ContradictionError("has indices that lead outside")
        if self.order is not None:
            rises = np.greater if self.order == "strictly" else np.greater_equal
            if not rises(value[1:], value[:-1]).all():
                raise ContradictionError("has numbers out of order")


@dataclass(frozen=True)
class MatrixOf(Check):
    """Rows of numbers: a dense array, or a sparse matrix of SciPy."""

    axes: tuple[str, ...]
    finite: bool = False
    kinds: str = "iufb"

    def verify(self, value: Any, context: Context) -> None:
        if not (isinstance(value, np.ndarray) or is_sparse(value)):
            raise ContradictionError("is not a matrix")
        if value.dtype.kind not in self.kinds or value.dtype in UNCOMPUTED:
            raise ContradictionError("has the wrong type")
        if len(self.axes) != value.ndim:
            raise ContradictionError("has the wrong size")
        for axis, length in zip(self.axes, value.shape, strict=True):
            context.bind(axis, length)

    def verify_range(self, value: Any, context: Context) -> None:
        numbers = value if isinstance(value, np.ndarray) else value.data
        if self.finite and not np.isfinite(numbers).all():
            raise ContradictionError("has numbers that are not finite")


@dataclass(frozen=True)
class RowsOf(Check):
    """Rows of any kind: a matrix, a frame, a list of strings."""

    axis: str
    #: the axis of the columns, if there are any
    columns: str = "."

    def verify(self, value: Any, context: Context) -> None:
        shape = getattr(value, "shape", None)
        if isinstance(shape, tuple) and shape:
            context.bind(self.axis, shape[0])
            if len(shape) == 2:
                context.bind(self.columns, shape[1])
        elif isinstance(value, list | tuple):
            context.bind(self.axis, len(value))
        else:
            raise ContradictionError("has no rows")


@dataclass(frozen=True)
class Size(Check):
    """An integer that is the length of an axis."""

    axis: str

    def verify(self, value: Any, context: Context) -> None:
        if isinstance(value, bool) or not isinstance(value, int | np.integer):
            raise ContradictionError("is not a whole number")
        context.bind(self.axis, int(value))


@dataclass(frozen=True)
class NumberCheck(Check):
    """A number of Python or NumPy."""

    least: float | None = None
    most: float | None = None
    finite: bool = False
    whole: bool = False

    def verify(self, value: Any, context: Context) -> None:
        types = (int, np.integer) if self.whole else (int, float, np.integer, np.floating)
        if isinstance(value, bool) or not isinstance(value, types):
            raise ContradictionError("is not a whole number" if self.whole else "is not a number")
        if isinstance(value, int) and abs(value) >= INTEGER_BOUND:
            raise ContradictionError("is too large a number")
        if self.finite and not isfinite(value):
            raise ContradictionError("is not finite")
        if self.least is not None and not value >= self.least:
            raise ContradictionError(f"is not {self.least} or more")
        if self.most is not None and not value <= self.most:
            raise ContradictionError(f"is not {self.most} or less")


@dataclass(frozen=True)
class Instance(Check):
    """An object of one of some classes."""

    classes: tuple[type, ...]

    def verify(self, value: Any, context: Context) -> None:
        if not isinstance(value, self.classes) or (isinstance(value, bool) and bool not in self.classes):
            raise ContradictionError(f"is a {type(value).__name__}")


@dataclass(frozen=True)
class StoredObject(Check):
    """An object of any class that has a declaration, or of an estimator."""

    def verify(self, value: Any, context: Context) -> None:
        if isinstance(value, type) or not (hasattr(value, DECLARATION) or hasattr(value, "get_params")):
            raise ContradictionError(f"is a {type(value).__name__}")


@dataclass(frozen=True)
class EstimatorCheck(Check):
    """An estimator by scikit-learn's conventions, without importing scikit-learn."""

    def verify(self, value: Any, context: Context) -> None:
        if isinstance(value, type) or not (hasattr(value, "get_params") and hasattr(value, "__sklearn_tags__")):
            raise ContradictionError(f"is a {type(value).__name__}")


@dataclass(frozen=True)
class PartCheck(Check):
    """Another stored object, some axes of which are axes of this one."""

    check: Check
    axes: Mapping[str, str]

    def verify(self, value: Any, context: Context) -> None:
        self.check.verify(value, context)
        for theirs, length in context.sizes_of(value).items():
            if theirs in self.axes:
                context.bind(self.axes[theirs], length)


@dataclass(frozen=True)
class SequenceOf(Check):
    """A list or tuple of values of one kind, whose length is an axis."""

    axis: str
    each: Check
    kinds: tuple[Any, ...] = (list, tuple)

    def verify(self, value: Any, context: Context) -> None:
        if not isinstance(value, self.kinds):
            raise ContradictionError("is not a list")
        context.bind(self.axis, len(value))
        for item in value:
            self.each.verify(item, context.of_item())

    def verify_range(self, value: Any, context: Context) -> None:
        context.verify_keys(value)
        for item in value:
            inner = context.of_item()
            self.each.verify(item, inner)
            self.each.verify_range(item, inner)


@dataclass(frozen=True)
class TupleOf(Check):
    """A tuple of one value of each kind."""

    parts: tuple[Check, ...]

    def verify(self, value: Any, context: Context) -> None:
        if not isinstance(value, list | tuple) or len(value) != len(self.parts):
            raise ContradictionError("has the wrong size")
        for check, item in zip(self.parts, value, strict=True):
            check.verify(item, context)

    def verify_range(self, value: Any, context: Context) -> None:
        for check, item in zip(self.parts, value, strict=True):
            check.verify_range(item, context)


@dataclass(frozen=True)
class DictOf(Check):
    """A dict with keys and values of one kind each."""

    keys: Check
    values: Check

    def verify(self, value: Any, context: Context) -> None:
        if not isinstance(value, dict):
            raise ContradictionError("is not a dict")
        for key, item in value.items():
            self.keys.verify(key, context.of_item())
            self.values.verify(item, context.of_item())


@dataclass(frozen=True)
class SetOf(Check):
    """A set of values of one kind."""

    each: Check

    def verify(self, value: Any, context: Context) -> None:
        if not isinstance(value, set | frozenset):
            raise ContradictionError("is not a set")
        for item in value:
            self.each.verify(item, context)


@dataclass(frozen=True)
class ChoiceCheck(Check):
    """One of some values."""

    values: tuple[Any, ...]

    def verify(self, value: Any, context: Context) -> None:
        if not any(type(value) is type(each) and value == each for each in self.values):
            raise ContradictionError("is not one of its possible values")


@dataclass(frozen=True)
class Either(Check):
    """A value of one of several kinds."""

    checks: tuple[Check, ...]

    def verify(self, value: Any, context: Context) -> None:
        self._first(value, context)

    def verify_range(self, value: Any, context: Context) -> None:
        self._first(value, context).verify_range(value, context)

    def _first(self, value: Any, context: Context) -> Check:
        reason = ContradictionError("has the wrong kind")
        for check in self.checks:
            sizes = dict(context.sizes)
            try:
                check.verify(value, context)
                return check
            except ContradictionError as error:
                reason = error if not isinstance(check, Instance) else reason
                context.sizes.clear()
                context.sizes.update(sizes)
        raise reason


@dataclass(frozen=True)
class CallableOf(Check):
    """A callable."""

    def verify(self, value: Any, context: Context) -> None:
        if not callable(value):
            raise ContradictionError("cannot be called")


ANYTHING = Check()
CALLABLE = CallableOf()
NONE_CHECK = Instance((types.NoneType,))


def floats(axes: str | None = None, **limits: Any) -> ArrayOf:
    """Return the check of an array of floats; `least`, `most`, `finite` and `order` limit its numbers."""
    return ArrayOf("f", None if axes is None else _tokens(axes), **limits)


def integers(axes: str | None = None, **limits: Any) -> ArrayOf:
    """Return the check of an array of integers, 0 or more unless `least` is given."""
    return ArrayOf("iu", None if axes is None else _tokens(axes), **({"least": 0} | limits))


def flags(axes: str | None = None) -> ArrayOf:
    """Return the check of an array of truth values."""
    return ArrayOf("b", None if axes is None else _tokens(axes))


def reals(axes: str | None = None, **limits: Any) -> ArrayOf:
    """Return the check of an array of numbers of any type."""
    return ArrayOf("iufb", None if axes is None else _tokens(axes), **limits)


def values(axes: str | None = None) -> ArrayOf:
    """Return the check of an array of numbers, strings, dates or objects."""
    return ArrayOf("iufbcUSOMm", None if axes is None else _tokens(axes), computed=False)


def matrix(axes: str, **limits: Any) -> MatrixOf:
    """Return the check of a dense or sparse matrix."""
    return MatrixOf(_tokens(axes), **limits)


def any_rows(axis: str, columns: str = ".") -> RowsOf:
    """Return the check of rows of any kind, with an axis of their columns if they have columns."""
    return RowsOf(axis, columns)


def length(axis: str) -> Size:
    """Return the check of a number that is the length of an axis."""
    return Size(axis)


def real(least: float | None = None, most: float | None = None, *, finite: bool = False) -> NumberCheck:
    """Return the check of a number."""
    return NumberCheck(least, most, finite)


def whole(least: float | None = None, most: float | None = None) -> NumberCheck:
    """Return the check of an integer."""
    return NumberCheck(least, most, whole=True)


def part_of(*classes: type, **axes: str) -> PartCheck:
    """Return the check of a stored object, of the given classes or any class, with its axes by those of the whole."""
    return PartCheck(Instance(classes) if classes else StoredObject(), axes)


def estimator(**axes: str) -> PartCheck:
    """Return the check of an estimator of any class, with its axes by those of the whole."""
    return PartCheck(EstimatorCheck(), axes)


def sequence(axis: str, each: Check | None = None) -> SequenceOf:
    """Return the check of a list or tuple with the length of an axis; axes that begin with `_` belong to one item."""
    return SequenceOf(axis, each or ANYTHING)


def mapping(keys: Check, values: Check) -> DictOf:
    """Return the check of a dict."""
    return DictOf(keys, values)


def each_of(*parts: Check) -> TupleOf:
    """Return the check of a tuple with a value of each kind."""
    return TupleOf(parts)


def either(*checks: Check) -> Either:
    """Return the check of a value of one of several kinds."""
    return Either(checks)


def optional(check: Check) -> Either:
    """Return the check of a value that may be None."""
    return Either((NONE_CHECK, check))


def one_of(*values: Any) -> ChoiceCheck:
    """Return the check of one of some values."""
    return ChoiceCheck(values)


class Unsafe(NamedTuple):
    """A part of an object that is not allowed in files: its name, a description, and the remedy."""

    part: str
    what: str
    remedy: str


@dataclass(frozen=True)
class Declaration:
    """The fields of a class, and further conditions on its objects."""

    fields: dict[str, Check] = field(default_factory=dict)
    consistent: tuple[Callable[[Any], bool], ...] = ()
    #: parts that are not stored, and functions that make them again after an object has been loaded
    regrow: dict[str, Callable[[Any], None]] = field(default_factory=dict)
    #: functions of an object, or their dotted paths, that find parts that are not allowed in files
    unsafe: tuple[Callable[[Any], Unsafe | None] | str, ...] = ()

    def verify(
        self,
        state: Mapping[str, Any],
        sizes_of: Callable[[Any], Mapping[str, int]],
        verify_keys: Callable[[Sequence[Any]], None] = _accept,
    ) -> Sizes:
        """Verify the parts of an object, and return the lengths of its axes."""
        context = Context({}, sizes_of, verify_keys)
        for step in ("verify", "verify_range"):
            for name, check in self.fields.items():
                if name in state:
                    try:
                        getattr(check, step)(state[name], context)
                    except ContradictionError as error:
                        raise ContradictionError(error.why, name) from None
        return context.sizes


def stored(
    consistent: Callable[[Any], bool] | None = None,
    /,
    *,
    tag: str | Check | None = "",
    regrow: Mapping[str, Callable[[Any], None]] | Check | None = None,
    unsafe: Callable[[Any], Unsafe | None] | str | Check | None = None,
    **fields: Check,
) -> Callable[[type], type]:
    """Declare the fields of a class, so that its objects can be stored in model files.

    Fields that are not named are verified by their annotations, and fields of base classes by the declarations of
    these.

    Parameters
    ----------
    consistent : callable, default=None
        A function of an object that returns whether it is consistent beyond the declarations of its fields.
    tag : str or None, default=""
        The name of the class in model files, which stays the same when the class moves. By default it is the name of
        the class, preceded by that of its package if this is not mercer. None declares fields for subclasses only.
    regrow : mapping from part to callable, default=None
        Parts that are left out of files unless their class is stored, with functions of the loaded object that make
        them again.
    unsafe : callable or str, default=None
        A function of an object, or its dotted path, that returns a part that would be executed, such as a formula
        with a call, or None.
    **fields : Check
        The check of each part.
    """

    # an unpacked dict of fields could contain these names
    if isinstance(tag, Check) or isinstance(regrow, Check) or isinstance(unsafe, Check):
        raise TypeError("`tag`, `regrow` and `unsafe` are parameters of `stored`; rename a field of that name.")

    def declare(cls: Any) -> Any:
        own = Declaration(
            fields,
            () if consistent is None else (consistent,),
            dict(regrow or {}),
            () if unsafe is None else (unsafe,),
        )
        setattr(cls, DECLARATION, own)
        if tag is not None:
            register(cls, tag)
        if hasattr(cls, "get_params"):
            for base in cls.__mro__:
                if base.__module__.partition(".")[0] == "mercer":
                    _guard_methods(base)
        return cls

    return declare


def mark_loaded(thing: Any) -> None:
    """Mark an estimator as read from a file, so that its methods explain internal errors by a possibly damaged file.

    Methods of scikit-learn's classes get the same guard with the first loaded object that has them; for all other
    objects they behave as before.
    """
    if hasattr(thing, "get_params"):
        cls: Any = type(thing)
        _guard_methods_of_scikit_learn(cls)
        _LOADED[id(thing)] = thing


@functools.cache
def _guard_methods_of_scikit_learn(cls: Any) -> None:
    """Guard the methods that a class inherits from scikit-learn."""
    for base in cls.__mro__:
        if base.__module__.partition(".")[0] == "sklearn":
            _guard_methods(base)


def _guard_methods(cls: type) -> None:
    """Make public methods and properties of a class explain their errors for estimators that were read from files."""
    for name, value in list(vars(cls).items()):
        if name.startswith("_"):
            continue
        if isinstance(value, types.FunctionType) and not hasattr(value, _GUARDED):
            setattr(cls, name, _guarded(value, name))
        elif isinstance(value, functools.cached_property) and not hasattr(value.func, _GUARDED):
            value.func = _guarded(value.func, name, attribute=True)
        elif isinstance(value, property) and value.fget is not None and not hasattr(value.fget, _GUARDED):
            setattr(cls, name, value.getter(_guarded(value.fget, name, attribute=True)))
        elif isinstance(getattr(value, "fn", None), types.FunctionType) and not hasattr(value.fn, _GUARDED):
            value.fn = _guarded(value.fn, name)  # scikit-learn's conditionally available methods


def _guarded(method: Callable[..., Any], name: str, *, attribute: bool = False) -> Callable[..., Any]:
    @functools.wraps(method)
    def call(self: Any, *args: Any, **options: Any) -> Any:
        if _LOADED.get(id(self)) is not self:
            return method(self, *args, **options)
        try:
            result = method(self, *args, **options)
        except Exception as error:
            _LOADED[id(self)] = self  # again, if an inner fit has succeeded
            if attribute and _is_absence(error):
                raise
            if error.__traceback__ is None or error.__traceback__.tb_next is None or not _is_unexplained(error):
                raise
            raise ModelFileError(
                f"`{name}` of this {type(self).__name__} failed ({type(error).__name__}: {error}). The parts of the "
                "file from which it was loaded may contradict each other: fetch the file again, or fit the model again."
            ) from error
        if name in FITTING:
            _LOADED.pop(id(self), None)
        return result

    setattr(call, _GUARDED, True)
    return call


def _is_absence(error: Exception) -> bool:
    """Return whether an estimator, or one inside it, lacks an attribute, an error on which `hasattr` relies."""
    return isinstance(error, AttributeError) and (error.obj is None or hasattr(type(error.obj), "get_params"))


def _is_unexplained(error: Exception) -> bool:
    """Return whether an error of Python, NumPy or numba would not be understood by the caller."""
    if isinstance(error, MercerError | ValueError) or _is_deliberate(error):
        return False
    return isinstance(error, UNEXPLAINED) or type(error).__module__.partition(".")[0] == "numba"


def _is_deliberate(error: Exception) -> bool:
    """Return whether an error comes from a `raise` in mercer or scikit-learn; an `assert` does not count."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None or isinstance(error, AssertionError):
        return False
    raised = trace.tb_frame.f_code.co_code[trace.tb_lasti] == dis.opmap["RAISE_VARARGS"]
    return raised and trace.tb_frame.f_globals.get("__name__", "").partition(".")[0] in ("mercer", "sklearn")


@functools.cache
def declaration_of(cls: Any) -> Declaration:
    """Return the declaration of a class, with annotated fields and those of its bases."""
    fields: dict[str, Check] = dict(_annotated(cls))
    consistent: list[Callable[[Any], bool]] = []
    regrow: dict[str, Callable[[Any], None]] = {}
    unsafe: list[Callable[[Any], Unsafe | None] | str] = []
    for base in reversed(cls.__mro__):
        own = vars(base).get(DECLARATION)
        if own is not None:
            fields.update(own.fields)
            consistent.extend(own.consistent)
            regrow.update(own.regrow)
            unsafe.extend(own.unsafe)
    return Declaration(fields, tuple(consistent), regrow, tuple(unsafe))


def _annotated(cls: type) -> Iterator[tuple[str, Check]]:
    """Yield the checks of annotated fields of a dataclass or a named tuple."""
    if dataclasses.is_dataclass(cls):
        names = {each.name for each in dataclasses.fields(cls)}
    elif issubclass(cls, tuple) and hasattr(cls, "_fields"):
        names = set(cls._fields)
    else:
        return
    for base in reversed(cls.__mro__):
        scope = vars(sys.modules[base.__module__]) if base.__module__ in sys.modules else {}
        for name, annotation in vars(base).get("__annotations__", {}).items():
            if name in names:
                yield name, check_of(_evaluate(annotation, scope, vars(base)))


def _evaluate(annotation: Any, scope: dict[str, Any], own: Mapping[str, Any]) -> Any:
    """Return the type of an annotation; Any if a name in it is imported for annotations only."""
    if isinstance(annotation, typing.ForwardRef):  # of a named tuple
        annotation = annotation.__forward_arg__
    if not isinstance(annotation, str):
        return annotation
    try:  # source code of ours
        return eval(annotation, {**vars(builtins), **scope}, dict(own))  # noqa: S307
    except (NameError, TypeError, AttributeError):
        return Any


def check_of(annotation: Any) -> Check:
    """Return the check that corresponds to an annotation."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation is None or annotation is types.NoneType:
        return NONE_CHECK
    if annotation is int:
        return NumberCheck(whole=True)
    if annotation is float:
        return NumberCheck()
    if annotation is bool:
        return Instance((bool, np.bool_))
    if origin in (typing.Union, types.UnionType):
        return Either(tuple(check_of(each) for each in arguments))
    if origin is typing.Literal:
        return ChoiceCheck(arguments)
    if origin is typing.Annotated:
        return check_of(arguments[0])
    if origin is np.ndarray or annotation is np.ndarray:
        return values()
    if origin is tuple:
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return SequenceOf(".", check_of(arguments[0]), (tuple,))
        return TupleOf(tuple(map(check_of, arguments)))
    if origin in (list, Sequence):
        return SequenceOf(".", check_of(arguments[0]), (list, tuple) if origin is Sequence else (list,))
    if origin in (dict, Mapping):
        return DictOf(*map(check_of, arguments))
    if origin in (set, frozenset):
        return SetOf(check_of(arguments[0]))
    if annotation is Any:
        return ANYTHING
    if origin is Callable:
        return CALLABLE
    if isinstance(annotation, type) and origin is None and not getattr(annotation, "_is_protocol", False):
        return ANYTHING if annotation is object else Instance((annotation,))
    return ANYTHING


def is_sparse(value: Any) -> bool:
    """Return whether a value is a sparse matrix of SciPy, without importing SciPy."""
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(value))
