"""Traits: what a class of estimators declares once, so that no other package lists estimators by name."""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, TypeVar

from mercer import _tags
from mercer.base._compared import Candidate, Question

T = TypeVar("T", bound=type)

#: the name under which a class keeps its traits
TRAITS = "__traits__"
#: classes that have declared traits, in the order of their definition
_DECLARED: dict[tuple[str, str], type] = {}

#: what a model predicts, or what else it is for; the first task of a class is its main one
ModelTask = Literal["classification", "ordered", "regression", "counts", "amounts", "density", "features"]
#: what is modelled: rows and target together, the target given the row, only the decision, and so on
ModelKind = Literal["generative", "discriminative", "direct", "kernel", "density", "baseline", "reference"]
#: the columns that a model is shown when it is fitted to a table of any columns
ModelColumns = Literal["features", "points", "numbers", "counts", "zero-one", "any", "documents"]
#: what a classifier has to do with generative-discriminative pairs. A generative half names the features that its
#: discriminative counterpart is fitted to; a discriminative half is a function that is linear, or of a kernel
Half = Literal["columns", "words", "monomials", "squares", "statistics", "kernel", "linear", "kernelized", ""]

#: why classes have no counterpart
DECIDES_ONLY = "it learns where to decide and no probability, so that it is half of no pair; LogisticRegression is"
DESCRIBES_ROWS = "it describes rows, and not what class they are of"


@dataclass(frozen=True)
class Traits:
    """What a class of estimators has declared by `traits`; see there."""

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
    tables: Callable[[Any], Any] | str | None = None
    summary: Callable[..., Any] | str | None = None
    cost: Callable[..., Any] | str | None = None
    kernelize: Callable[..., Any] | str | None = None

    def kind_of(self, model: Any) -> ModelKind:
        """Return the kind of a model of this class."""
        return self.kind(model) if callable(self.kind) else self.kind

    def half_of(self, model: Any) -> Half:
        """Return what a model of this class has to do with generative-discriminative pairs; "" for nothing."""
        return self.half(model) if callable(self.half) else self.half

    @property
    def predicts(self) -> bool:
        """Whether models of this class predict a target."""
        return bool({*self.tasks} & {"classification", "regression"})

    @property
    def classifies(self) -> bool:
        """Whether the main task of the class is to predict classes."""
        return self.tasks[:1] == ("classification",)


def traits(*tasks: ModelTask, **declared: Any) -> Callable[[T], T]:
    """Declare what the rest of mercer needs to know about a class of estimators.

    Functions may be given by their dotted path, which is imported when the function is needed, so that the class stays
    cheap to import. A subclass inherits what its nearest base class declares, except `candidates` and `export`, which
    hold for the class alone.

    Parameters
    ----------
    *tasks : str
        What models of the class are for: "classification", "ordered" (ordered classes), "regression", "counts",
        "amounts", "density" or "features" (a transformer). The first is the main task.
    kind : str or callable, default="discriminative"
        What is modelled: "generative" (rows and classes together), "discriminative" (the target given the row),
        "direct" (a decision without probabilities), "kernel" (a function of comparisons with all rows) or "density"
        (windows around the rows). A function of the model where it depends on parameters. `compare` fits models in
        the order baseline, generative, discriminative, direct, density, kernel.
    columns : str, default="features"
        What a model is shown of a table of any columns when it is fitted by name: "features" of them, "points" (the
        same as dense rows), "numbers" as they are, "counts", "zero-one" (counts, or 0 and 1), columns of "any" kind as
        they are, or "documents" (texts, without a table).
    integrates_missing : bool, default=False
        Whether missing values are integrated out, so that numbers are shown with their gaps.
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
        A function of the model, its name in a comparison. By default its `repr`.
    candidates : callable or str, default=None
        A function (`Question`) → `Candidate` objects: the models of this class that take part in `compare` when
        nothing else is asked for. It is called for questions of its tasks.
    export : callable or str, default=None
        A function (fitted model, inputs) → expressions, as the functions of `mercer.export.linear` are.
    evidence : callable or str, default=None
        A function (fitted model, rows) → (base, contributions, names), for explanations of models whose scores are
        sums over columns that `coef_` and `intercept_` do not describe. The scores, one for each class, are
        base + Σ contributions, of shapes (scores,) and (rows, names, scores).
    tables : callable or str, default=None
        A function of the fitted model that returns {column: {class: {parameter: value}}}, the distributions of columns
        within classes, for reports.
    summary : callable or str, default=None
        The function that reads a fitted model for `mercer.summary`.
    cost : callable or str, default=None
        The function (model, rows) that estimates what a fit takes, for `estimate_cost`.
    kernelize : callable or str, default=None
        The function (model, kernel, approximate) that makes the kernel form of a model, or raises the reason why there
        is none.

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
        setattr(cls, TRAITS, own)
        _DECLARED[(cls.__module__, cls.__qualname__)] = cls
        return cls

    return declare


def traits_of(model: Any) -> Traits:
    """Return what the class of a model, or its nearest base class that does, declares; defaults where none does."""
    cls = model if isinstance(model, type) else type(model)
    for base in cls.__mro__:
        if (found := declared_traits(base)) is not None:
            return found
    return Traits()


def declared_traits(cls: type) -> Traits | None:
    """Return what a class declares itself, or what is declared about a class of scikit-learn; None where nothing is."""
    if (own := vars(cls).get(TRAITS)) is not None:
        return own  # type: ignore[no-any-return]
    if cls.__module__.partition(".")[0] != "sklearn":
        return None
    from mercer.base import scikit_learn

    return scikit_learn.TRAITS.get(scikit_learn.public_path(cls))


def resolve(function: Callable[..., Any] | str) -> Callable[..., Any]:
    """Return a function that is given by itself or by its dotted path."""
    if not isinstance(function, str):
        return function
    module, _, name = function.rpartition(".")
    return getattr(importlib.import_module(module), name)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class _Declaration:
    """Traits as the source of a class of mercer spells them: tasks and the other arguments that are literals."""

    name: str
    module: str
    tasks: tuple[str, ...]
    given: dict[str, Any] = field(default_factory=dict)


@cache
def _declarations() -> tuple[_Declaration, ...]:
    """Return the declarations in the sources of mercer, by the names of their classes; nothing is imported for it."""
    found = []
    for each in _tags.definitions():
        if "traits(" in each.decorators:
            (described,) = ast.parse(f"@{each.decorators}class _: pass").body
            assert isinstance(described, ast.ClassDef)
            for call in described.decorator_list:
                if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "traits":
                    tasks = tuple(ast.literal_eval(task) for task in call.args)
                    given = {part.arg: _literal(part.value) for part in call.keywords if part.arg is not None}
                    found.append(_Declaration(each.name, each.module, tasks, given))
    return tuple(sorted(found, key=lambda each: each.name.casefold()))


def _literal(node: ast.expr) -> Any:
    """Return the value of a literal; the node where it is none."""
    try:
        return ast.literal_eval(node)
    except ValueError:
        return node


def model_names(*declared: str) -> tuple[str, ...]:
    """Return the names of models that predict a target: classifiers of mercer, its regressors, then those of others.

    With arguments only the names of mercer's classes that declare these traits. Nothing is imported: the names are
    those in the sources.

    Examples
    --------
    >>> model_names("needs_full_rank")
    ('QuadraticDiscriminantAnalysis',)
    """
    import mercer

    public = [each for each in _declarations() if each.name in mercer.__all__ and {*declared} <= {*each.given}]
    names = [each.name for task in ("classification", "regression") for each in public if each.tasks[:1] == (task,)]
    return (*names, *(cls.__name__ for cls in _others()))


def transformer_names(*declared: str) -> tuple[str, ...]:
    """Return the names of transformers, of mercer and of scikit-learn, that declare these traits.

    Examples
    --------
    >>> "TableFeatures" in transformer_names("export"), "LogFeatures" in transformer_names("export")
    (True, False)
    """
    from mercer.base import scikit_learn

    ours = [each.name for each in _declarations() if each.tasks == ("features",) and {*declared} <= {*each.given}]
    theirs = [
        path.rpartition(".")[2]
        for path, each in scikit_learn.TRAITS.items()
        if each.tasks == ("features",) and all(getattr(each, name) for name in declared)
    ]
    return (*ours, *theirs)


def estimator_named(name: str) -> type:
    """Return the class with one of the `model_names`."""
    import mercer

    if name in mercer.__all__:
        return getattr(mercer, name)  # type: ignore[no-any-return]
    return next(cls for cls in _others() if cls.__name__ == name)


def _declared_classes() -> list[type]:
    """Return the classes that have declared traits: those of mercer first, and none whose module is gone."""
    found = [cls for (module, _), cls in _DECLARED.items() if module in sys.modules]
    return sorted(found, key=lambda cls: cls.__module__.partition(".")[0] != _tags.PACKAGE)


def _others() -> list[type]:
    """Return the classes outside of mercer that predict a target."""
    return [
        cls
        for cls in _declared_classes()
        if cls.__module__.partition(".")[0] != _tags.PACKAGE and traits_of(cls).predicts
    ]


def estimators_for(*tasks: str) -> list[type]:
    """Return the classes that declare candidates for one of these tasks: those of mercer, then those of others.

    A module of mercer is imported only if it defines one of them; one of another package has been imported by the
    user's program.
    """
    for each in _declarations():
        if "candidates" in each.given and {*each.tasks} & {*tasks}:
            importlib.import_module(each.module)
    return [
        cls
        for cls in _declared_classes()
        if (own := declared_traits(cls)) is not None and own.candidates is not None and {*own.tasks} & {*tasks}
    ]
