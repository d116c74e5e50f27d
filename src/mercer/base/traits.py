"""Traits of estimators: what other packages need to know about a class, declared once with the class.

`traits` is the decorator that declares them, `traits_of` returns those of a model. `compare`, `counterpart`, `export`,
`summary`, `kernelize` and others read them; none of these keeps a list of classes. The classes of mercer are found by
reading its source files, without an import; a class of another package is found once the program has imported it.
"""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, TypeVar

from mercer import _tags as tags
from mercer.base.compared import Candidate, Question

T = TypeVar("T", bound=type)

#: the name under which a class keeps its traits
TRAITS_ATTRIBUTE = "__traits__"
#: classes that have declared traits, in the order of their definition
_DECLARED: dict[tuple[str, str], type] = {}

#: the purposes of a class of models; its first task is the main one
ModelTask = Literal["classification", "ordered", "regression", "counts", "amounts", "density", "features"]
#: what is modelled: the joint distribution of rows and target, the target given the row, only the decision, …
ModelKind = Literal["generative", "discriminative", "direct", "kernel", "density", "baseline", "reference"]
#: the columns that are passed to a model when it is fitted by name to a table with columns of any kind
ModelColumns = Literal["features", "points", "numbers", "counts", "zero-one", "any", "documents"]
#: the part of a classifier in a generative-discriminative pair. For a generative model: the features that its
#: discriminative counterpart is fitted to. For a discriminative one: whether it is linear, or linear after a kernel
Half = Literal["columns", "words", "monomials", "squares", "statistics", "kernel", "linear", "kernelized", ""]

#: reason why classes that learn decisions only have no counterpart, as the end of a sentence
DECIDES_ONLY = "it learns where to decide and no probability, so that it is half of no pair; LogisticRegression is"
#: reason why classes that describe rows have no counterpart, as the end of a sentence
DESCRIBES_ROWS = "it describes rows, and not what class they are of"


@dataclass(frozen=True)
class Traits:
    """The traits of a class of estimators; `traits` describes each of them."""

    tasks: tuple[str, ...] = ()
    kind: ModelKind | Callable[[Any], ModelKind] = "discriminative"
    columns: ModelColumns = "features"
    integrates_missing: bool = False
    needs_full_rank: bool = False
    is_one_pass: bool = False
    half: Half | Callable[[Any], Half] = ""
    no_counterpart: str = ""
    makes: Literal["", "words", "products"] = ""
    standardizes: bool = False
    chooses: str = ""
    settle: Callable[[Any], Any] | str | None = None
    set_by_task: str = ""
    label: Callable[[Any], str] | None = None
    candidates: Callable[[Question], Iterable[Candidate]] | str | None = None
    export: Callable[..., Any] | str | None = None
    evidence: Callable[..., Any] | str | None = None
    levels: Callable[[Any], dict[str, tuple[Any, ...]]] | str | None = None
    tables: Callable[[Any], Any] | str | None = None
    summary: Callable[..., Any] | str | None = None
    cost: Callable[..., Any] | str | None = None
    kernelize: Callable[..., Any] | str | None = None
    objective: Callable[[Any], Any] | str | None = None

    def kind_of(self, model: Any) -> ModelKind:
        """Return the kind of a model of this class."""
        return self.kind(model) if callable(self.kind) else self.kind

    def half_of(self, model: Any) -> Half:
        """Return the part of a model in a generative-discriminative pair; "" where it belongs to none."""
        return self.half(model) if callable(self.half) else self.half

    @property
    def predicts(self) -> bool:
        """True if models of this class predict a target."""
        return bool({*self.tasks} & {"classification", "regression"})

    @property
    def classifies(self) -> bool:
        """True if the main task of the class is to predict classes."""
        return self.tasks[:1] == ("classification",)


def traits(*tasks: ModelTask, **declared: Any) -> Callable[[T], T]:
    """Declare what the rest of mercer needs to know about a class of estimators; a decorator of classes.

    A function can be given by its dotted path, which is imported when the function is called, so that importing the
    class stays cheap. A subclass that declares no traits has all traits of its nearest base class that does, except
    `candidates` and `export`, which hold for the declaring class only. A subclass that declares traits inherits none.

    Parameters
    ----------
    *tasks : str
        The purposes of the class: "classification", "ordered" (ordered classes), "regression", "counts", "amounts",
        "density" or "features" (a transformer). The first is the main task.
    kind : str or callable, default="discriminative"
        What is modelled: "generative" (rows and classes together), "discriminative" (the target given the row),
        "direct" (a decision without probabilities), "kernel" (a kernel function of all training rows) or "density"
        (windows around the training rows). A function of the model where the kind depends on parameters. `compare`
        fits models in the order baseline, generative, discriminative, direct, density, kernel.
    columns : str, default="features"
        What is passed to a model that is fitted by name to a table: "features" made by `TableFeatures`, "points" (the
        same features as a dense array), "numbers" without any change, "counts", "zero-one" (counts, or 0 and 1),
        columns of "any" kind without any change, or "documents" (texts, without a table).
    integrates_missing : bool, default=False
        Whether missing values are integrated out, so that numbers are passed with their gaps.
    needs_full_rank : bool, default=False
        Whether linearly dependent columns are an error.
    is_one_pass : bool, default=False
        Whether a fit is one pass over the rows, whose sums can be merged.
    half : str or callable, default=""
        For `counterpart`. The generative half of a pair names the features that a logistic regression needs to be its
        other half: "columns", "words", "monomials" (of degree 1 and 2), "squares" (columns and their squares),
        "statistics" (the sufficient statistics of each column) or "kernel". The discriminative half is "linear" or
        "kernelized". A function of the model where it depends on parameters.
    no_counterpart : str, default=""
        Why models of the class have no counterpart, as the end of a sentence.
    makes : {"", "words", "products"}, default=""
        For transformers: whether they make features of words, or products of columns.
    standardizes : bool, default=False
        For transformers: whether numbers leave them in standard units.
    chooses : str, default=""
        The parameter that each fit chooses by itself. The fitted attribute of its name and "_" is what it has chosen,
        that of its name and "s_" the values tried.
    settle : callable or str, default=None
        With `chooses`: a function of the fitted model that returns a model, not fitted, with the parameter as chosen.
        `compare` replaces its recommended model by this one, fitted. By default the search stays.
    set_by_task : str, default=""
        The parameter that the task decides where none is given, as the family of a GLM for counts: to fit the model by
        name is to fit the first candidate of its class.
    label : callable, default=None
        A function of the model that returns its name in a comparison. By default the `repr` of the model.
    candidates : callable or str, default=None
        A function of a `Question` that returns `Candidate` objects: the models of this class that take part in
        `compare` by default. It is called if the task is among those of the class.
    export : callable or str, default=None
        A function (fitted model, inputs) → expressions, as the functions of `mercer.export.linear` are.
    evidence : callable or str, default=None
        A function (fitted model, rows) → (base, contributions, names), for explanations of models whose scores are
        sums over columns that `coef_` and `intercept_` do not describe. The scores, one for each class, are
        base + Σ contributions, of shapes (scores,) and (rows, names, scores).
    levels : callable or str, default=None
        A function of the fitted model or transformer that returns {column: values} for the columns that are categories
        to it; exports, servers and readers of files take these columns as the same values.
    tables : callable or str, default=None
        A function of the fitted model that returns {column: {class: {parameter: value}}}, the distributions of columns
        within classes, for reports.
    summary : callable or str, default=None
        The function (fitted model, X, y, offsets and weights) that returns what `mercer.summary` needs, or raises the
        reason why there are no standard errors.
    cost : callable or str, default=None
        The function (model, rows) that estimates the time and the memory of a fit, for `estimate_cost`.
    kernelize : callable or str, default=None
        The function (model, kernel, approximate) that returns the model with a kernel, for `mercer.kernelize`. By
        default it is made from the `objective`.
    objective : callable or str, default=None
        The function (model) that returns its objective as losses and λ/2 ‖w‖², as the functions of
        `mercer.kernel_ridge.objectives` do, or raises the reason why the model has no kernel form.

    Examples
    --------
    >>> from sklearn.base import BaseEstimator, ClassifierMixin
    >>> from mercer.base import traits, traits_of
    >>> @traits("classification", kind="direct", columns="points")
    ... class Nearest(ClassifierMixin, BaseEstimator):
    ...     pass
    >>> traits_of(Nearest()).columns
    'points'
    """
    own = Traits(tasks, **declared)

    def declare(cls: T) -> T:
        setattr(cls, TRAITS_ATTRIBUTE, own)
        _DECLARED[(cls.__module__, cls.__qualname__)] = cls
        return cls

    return declare


def traits_of(model: Any) -> Traits:
    """Return the traits of a model or a class: its own, or those of its nearest base class that declares any."""
    cls = model if isinstance(model, type) else type(model)
    for base in cls.__mro__:
        if (declared := declared_traits(base)) is not None:
            return declared
    return Traits()


def declared_traits(cls: type) -> Traits | None:
    """Return the traits that a class declares itself, or that `base.scikit_learn` declares for it; else None."""
    if (own := vars(cls).get(TRAITS_ATTRIBUTE)) is not None:
        return own  # type: ignore[no-any-return]
    if cls.__module__.partition(".")[0] != "sklearn":
        return None
    from mercer.base import scikit_learn

    return scikit_learn.SCIKIT_LEARN_TRAITS.get(scikit_learn.public_path(cls))


def resolve(function: Callable[..., Any] | str) -> Callable[..., Any]:
    """Return a function that is given as such or by its dotted path."""
    if not isinstance(function, str):
        return function
    module, _, name = function.rpartition(".")
    return getattr(importlib.import_module(module), name)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class _TraitsInSource:
    """The arguments of `traits` in the source of a class of mercer; those that are not literals stay syntax trees."""

    name: str
    module: str
    tasks: tuple[str, ...]
    arguments: dict[str, Any] = field(default_factory=dict)


@cache
def _traits_in_sources() -> tuple[_TraitsInSource, ...]:
    """Return the traits in the source files of mercer, sorted by class name, without importing the classes."""
    classes = []
    for each in tags.definitions():
        if "traits(" in each.decorators:
            (described,) = ast.parse(f"@{each.decorators}class _: pass").body
            assert isinstance(described, ast.ClassDef)
            for call in described.decorator_list:
                if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "traits":
                    tasks = tuple(ast.literal_eval(task) for task in call.args)
                    arguments = {part.arg: _literal(part.value) for part in call.keywords if part.arg is not None}
                    classes.append(_TraitsInSource(each.name, each.module, tasks, arguments))
    return tuple(sorted(classes, key=lambda each: each.name.casefold()))


def _literal(node: ast.expr) -> Any:
    """Return the value of a literal, and any other expression as its node."""
    try:
        return ast.literal_eval(node)
    except ValueError:
        return node


def model_names(*declared: str) -> tuple[str, ...]:
    """Return the names of classes that predict a target: classifiers of mercer, its regressors, then other packages'.

    With arguments, only those that declare these traits. No class is imported.

    Examples
    --------
    >>> model_names("needs_full_rank")
    ('QuadraticDiscriminantAnalysis',)
    """
    import mercer

    public = [each for each in _traits_in_sources() if each.name in mercer.__all__ and {*declared} <= {*each.arguments}]
    names = [each.name for task in ("classification", "regression") for each in public if each.tasks[:1] == (task,)]
    others = _predictors_of_other_packages()
    return (*names, *(cls.__name__ for cls in others if all(getattr(traits_of(cls), name) for name in declared)))


def transformer_names(*declared: str) -> tuple[str, ...]:
    """Return the names of the transformers of mercer and scikit-learn that declare these traits.

    Examples
    --------
    >>> "TableFeatures" in transformer_names("export"), "LogFeatures" in transformer_names("export")
    (True, False)
    """
    from mercer.base import scikit_learn

    ours = [
        each.name for each in _traits_in_sources() if each.tasks == ("features",) and {*declared} <= {*each.arguments}
    ]
    theirs = [
        path.rpartition(".")[2]
        for path, each in scikit_learn.SCIKIT_LEARN_TRAITS.items()
        if each.tasks == ("features",) and all(getattr(each, name) for name in declared)
    ]
    return (*ours, *theirs)


def estimator_named(name: str) -> type:
    """Return the class with one of the `model_names`."""
    import mercer

    if name in mercer.__all__:
        return getattr(mercer, name)  # type: ignore[no-any-return]
    return next(cls for cls in _predictors_of_other_packages() if cls.__name__ == name)


def _declared_classes() -> list[type]:
    """Return the imported classes that declare traits, mercer's first, without those of modules that were unloaded."""
    classes = [cls for (module, _), cls in _DECLARED.items() if module in sys.modules]
    return sorted(classes, key=lambda cls: cls.__module__.partition(".")[0] != tags.PACKAGE)


def _predictors_of_other_packages() -> list[type]:
    """Return the imported classes of other packages that predict a target."""
    return [
        cls
        for cls in _declared_classes()
        if cls.__module__.partition(".")[0] != tags.PACKAGE and traits_of(cls).predicts
    ]


def estimators_for(*tasks: str) -> list[type]:
    """Return the classes that declare `candidates` for one of these tasks: those of mercer, then of other packages.

    Of mercer, the modules that define these classes are imported. Classes of other packages are those that the program
    has imported.
    """
    for each in _traits_in_sources():
        if "candidates" in each.arguments and {*each.tasks} & {*tasks}:
            importlib.import_module(each.module)
    return [
        cls
        for cls in _declared_classes()
        if (own := declared_traits(cls)) is not None and own.candidates is not None and {*own.tasks} & {*tasks}
    ]
