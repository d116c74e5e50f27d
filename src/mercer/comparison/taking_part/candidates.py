"""The models of mercer that take part in a comparison, as they are shown a table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from mercer.comparison.taking_part.inner import INNER_FOLDS, Inner
from mercer.comparison.taking_part.kernel_machines import kernel_machines
from mercer.comparison.taking_part.question import ENOUGH, Question
from mercer.comparison.taking_part.tuning import Tuned
from mercer.data import Schema, Table
from mercer.using.shown import Shown

#: what a model may need of the columns to make sense
ANYTHING, COMPLETE, DENSE = "nothing", "complete columns", "dense columns"
ZERO_ONE, COUNTS = "columns of 0 and 1", "counts"
#: rows up to which those are invited that compare each with all others, column by column
PAIRED_ROWS = 20_000
#: rows and columns up to which means and lines around each row are: to choose their widths takes long
SMOOTHED_ROWS, MEAN_COLUMNS, LINE_COLUMNS = 2_000, 6, 2
#: rows up to which learning rules are: where no hyperplane separates, they pass over the rows until they give up, and
#: the perceptron asks, for each class, whether there is none
RULE_ROWS = {"perceptron": 5_000, "lms": 50_000}
#: passes until then: more of them cost most of a comparison's time, and decide no better on rows that were not seen
PASSES = 200
#: columns up to which all their products are features
SQUARED_COLUMNS = 12
#: strengths of the penalty of logistic regression that are tried
STRENGTHS = (0.01, 0.1, 1.0, 10.0, 100.0)
#: the same for words, which have many coefficients, each of which has to be large to matter
STRENGTHS_OF_WORDS = (1.0, 10.0, 100.0)
#: penalties of ridge regression, and widths of smoothers in standard deviations, that are tried where each row cannot
#: be left out in turn, because its like would be left in; the safest first
PENALTIES = (1.0, 0.01, 0.1, 10.0, 100.0, 1e3, 1e4, 1e5)
WIDTHS = (0.5, 0.05, 0.1, 0.2, 0.35, 0.7, 1.0, 1.5, 2.5)
#: penalties of log-normal regression that are tried, safest first
PENALTIES_OF_LOGS = (1e-3, 1e-5, 1e-4, 1e-2, 0.1)
#: how far covariances are drawn to a multiple of the identity, safest first; the first is taken where values are
#: missing, so that every fit is one of many steps
SHRINKAGES = (0.1, 0.0, 0.01, 0.5)


class Candidate(NamedTuple):
    """A model, what it needs of the columns, the table it is shown, and whether gaps in it are filled first.

    It takes part up to `most_rows` rows and `most_columns` columns of that table.
    """

    model: Any
    need: str
    table: Table
    filled: bool = False
    most_rows: float = math.inf
    most_columns: float = math.inf


def for_sparse(table: Table, asked: Question) -> list[Candidate]:
    """Columns that are features already."""
    machines = kernel_machines(asked, table.n_rows, table.n_columns)
    return [
        Candidate(baseline(asked), ANYTHING, table),
        *([Candidate(_naive_bayes(), ANYTHING, table)] if asked.classes else []),
        *(Candidate(model, need, table) for model, need in _discrete(asked)),
        *(Candidate(model, COMPLETE, table) for model in linear(asked)),
        *(Candidate(_scaled(model), COMPLETE, table, False, most_rows) for model, most_rows in learning_rules(asked)),
        *(Candidate(_scaled(model), COMPLETE, table, False, most_rows) for model, most_rows in machines),
    ]


def for_columns(shown: Shown, asked: Question) -> list[Candidate]:
    """Columns of any kind, cheapest models first."""
    candidates = [Candidate(baseline(asked), ANYTHING, shown.table), *_describing(shown, asked)]
    if shown.texts:
        return [*candidates, *_for_text(shown, asked)]
    candidates += [Candidate(shown.features(model), COMPLETE, shown.table, True) for model in linear(asked)]
    candidates += [
        Candidate(shown.features(_scaled(model, centred=True), output="array"), COMPLETE, shown.table, True, most_rows)
        for model, most_rows in learning_rules(asked)
    ]
    if shown.all_numbers:
        candidates += _for_numbers(shown, asked)
    machines = kernel_machines(asked, shown.table.n_rows, shown.n_columns)
    return [
        *candidates,
        # distances need every column
        *(
            Candidate(shown.features(model, output="array"), COMPLETE, shown.table, True, most_rows)
            for model, most_rows in machines
        ),
    ]


def baseline(asked: Question) -> Any:
    """Return a model that does not use the columns: shares of the classes, or the mean."""
    from sklearn.dummy import DummyClassifier, DummyRegressor

    return DummyClassifier() if asked.classes else DummyRegressor()


def linear(asked: Question, strengths: Sequence[float] = STRENGTHS) -> list[Any]:
    """Linear models of features."""
    from mercer import models

    if asked.classes:
        return [*ordinal(asked, strengths), logistic(asked, strengths)]
    return [*glms(asked), models.LinearRegression(), _ridge(asked), models.LassoCV(cv=asked.inner)]


def _ridge(asked: Question) -> Any:
    """Leaving out each row in turn has a closed form, but tells nothing where its like are left in."""
    from mercer import models

    if asked.inner is None:
        return models.Ridge(alpha="loo")
    return Tuned(models.Ridge(), "alpha", PENALTIES, "regression", asked.inner)


def logistic(asked: Question, strengths: Sequence[float] = STRENGTHS) -> Any:
    """Logistic regression that chooses its penalty along a path, where classes have rows enough for folds."""
    from mercer import models

    if asked.rarest < ENOUGH:
        return models.LogisticRegression()
    return models.LogisticRegressionCV(
        Cs=list(strengths),
        cv=asked.inner or INNER_FOLDS,
        l1_ratios=(0,),
        scoring="neg_log_loss",
        use_legacy_attributes=False,
    )


def ordinal(asked: Question, strengths: Sequence[float] = STRENGTHS) -> list[Any]:
    """Return proportional odds for ordered classes; the penalty is chosen where rows suffice for folds."""
    from mercer import models

    if asked.task != "ordered":
        return []
    model = models.OrdinalRegression(order=None if _ascending(asked.order) else list(asked.order))
    if asked.rarest < ENOUGH:
        return [model]
    safest_first = sorted(strengths, key=lambda strength: abs(math.log(strength)))
    return [Tuned(model, "C", tuple(safest_first), "classification", asked.inner)]


def _ascending(order: Sequence[Any]) -> bool:
    """Whether labels are numbers in ascending order, which models of ordered classes take them in by themselves."""
    return all(isinstance(label, int | float) for label in order) and list(order) == sorted(order)


def glms(asked: Question) -> list[Any]:
    """Return models with a log link, for counts and for positive amounts; a Tweedie model where amounts may be 0."""
    from mercer import models
    from mercer.families import L2, Tweedie

    if asked.task == "counts":
        return [models.GLM(family, penalty=L2()) for family in ("poisson", "negative_binomial")]
    if asked.task != "amounts":
        return []
    if not asked.positive:
        return [models.GLM(Tweedie(1.5), link="log", penalty=L2())]
    log_normal = Tuned(models.LogNormalRegressor(), "alpha", PENALTIES_OF_LOGS, "regression", asked.inner)
    return [models.GLM("gamma", link="log", penalty=L2()), log_normal]


def learning_rules(asked: Question) -> list[tuple[Any, int]]:
    """Decisions learnt without probabilities (lecture 2's third way), and the rows up to which they are.

    To ask whether a hyperplane exists grows with the square of the rows, and is asked for each class.
    """
    from mercer import models

    if not asked.classes:
        return []
    units = asked.outputs**0.5
    return [(models.LinearThreshold(rule, max_iter=PASSES), int(rows / units)) for rule, rows in RULE_ROWS.items()]


def _naive_bayes(codes: Sequence[str] = ()) -> Any:
    """Whole numbers that are codes, 0 and 1 among them, have levels, not a normal distribution.

    Two levels are a Bernoulli distribution that also has an answer to a third, should one turn up in other rows.
    """
    from mercer import models

    return models.NaiveBayes(dict.fromkeys(codes, "categorical") or "auto")


def _describing(shown: Shown, asked: Question) -> list[Candidate]:
    """Models that describe columns of any type, gaps and all."""
    table = shown.as_they_are() if asked.classes else None
    if table is None:
        return []
    return [Candidate(_keeping_formats(shown) if shown.formats else _naive_bayes(shown.codes), ANYTHING, table)]


def _keeping_formats(shown: Shown) -> Any:
    """Naive Bayes by a schema, which says how numbers are written in columns of strings."""
    from mercer import models

    return models.NaiveBayes(Schema(tuple(shown.schema[name] for name in shown.described)))


def _discrete(asked: Question) -> list[tuple[Any, str]]:
    from mercer import models

    return [(models.BernoulliNB(), ZERO_ONE), (models.MultinomialNB(), COUNTS)] if asked.classes else []


def _for_text(shown: Shown, asked: Question) -> list[Candidate]:
    """Linear models of the words, with the other columns beside them; and the classic, of the words alone."""
    from mercer import models

    if not asked.classes:
        linear_ones = [*glms(asked), *([models.Ridge()] if asked.task != "counts" else [])]
        return [Candidate(shown.features(model), COMPLETE, shown.table, True) for model in linear_ones]
    counted = shown.features(models.MultinomialNB(), text_only=True, text="counts")
    conditional = [
        *ordinal(asked, STRENGTHS_OF_WORDS),
        logistic(asked, STRENGTHS_OF_WORDS),
        models.LinearThreshold("perceptron", max_iter=PASSES),
    ]
    return [
        Candidate(counted, ANYTHING, shown.table),
        *(Candidate(shown.features(model), COMPLETE, shown.table, True) for model in conditional),
    ]


def _for_numbers(shown: Shown, asked: Question) -> list[Candidate]:
    """Models of columns that are numbers, or that can be read as such."""
    if not asked.classes:
        return _smoothers(shown, asked.inner)
    from mercer import models

    numbers = shown.as_numbers()
    windows = [*([_filling()] if shown.has_gaps else []), models.KernelBayes()]
    return [
        # of numbers alone NaiveBayes is the same
        *([] if shown.plain_numbers or shown.formats else [Candidate(models.GaussianNB(), DENSE, numbers)]),
        # models of columns as they are do not keep how numbers are written in columns of strings
        *([] if shown.formats else (Candidate(model, need, numbers) for model, need in _discrete(asked))),
        *_discriminants(shown, asked.inner),
        *_squares(shown, asked),
        Candidate(shown.numbers(*windows), DENSE, shown.table, shown.has_gaps, PAIRED_ROWS),
    ]


def _discriminants(
    shown: Shown, inner: Inner | None, *, most_columns: int = 300, most_with_gaps: int = 100
) -> list[Candidate]:
    """A normal distribution for each class, with one covariance for all or one for each, drawn to a multiple of I.

    Without that a column that is constant in a class has no variance there, and a row in which it is not is impossible.
    A full covariance takes time in the cube of the columns, and with missing values in every one of many steps: up to
    `most_columns` and `most_with_gaps` columns. Beyond, one variance for each column stands in for it.
    """
    from mercer import models

    most = most_with_gaps if shown.has_gaps else most_columns

    def candidate(covariance: str, most_columns: float) -> Candidate:
        model: Any = models.GaussianDiscriminant(covariance, shrinkage=SHRINKAGES[0])
        if not shown.has_gaps:
            model = Tuned(models.GaussianDiscriminant(covariance), "shrinkage", SHRINKAGES, cv=inner)
        return Candidate(shown.numbers(model), DENSE, shown.table, most_columns=most_columns)

    diagonal = [candidate("shared diagonal", math.inf)] if shown.n_columns > most else []
    return [*diagonal, candidate("shared full", most), candidate("full", most)]


def _squares(shown: Shown, asked: Question) -> list[Candidate]:
    """Logistic regression of products of columns: what a normal distribution for each class comes to."""
    from mercer import models

    if shown.n_columns > SQUARED_COLUMNS:
        return []
    products = models.MonomialFeatures(2, include_bias=False)
    return [Candidate(shown.numbers(_filling(), products, logistic(asked)), COMPLETE, shown.table, True)]


def _smoothers(shown: Shown, inner: Inner | None) -> list[Candidate]:
    """Means and lines around each row, for few columns in standard units."""
    from mercer import models

    fitting = [
        *([models.NadarayaWatson()] if shown.n_columns <= MEAN_COLUMNS else []),
        *([models.LocalLinear()] if shown.n_columns <= LINE_COLUMNS else []),
    ]
    if inner is not None:
        fitting = [Tuned(model, "bandwidth", WIDTHS, "regression", inner) for model in fitting]
    return [
        Candidate(shown.numbers(_filling(), model), COMPLETE, shown.table, True, SMOOTHED_ROWS) for model in fitting
    ]


def _scaled(model: Any, *, centred: bool = False) -> Any:
    """For learning rules, which take their steps in the units of the columns, and for distances between rows."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(with_mean=centred), model)


def _filling() -> Any:
    """For densities and products, in which a column that says where gaps are would have no place."""
    from sklearn.impute import SimpleImputer

    return SimpleImputer(keep_empty_features=True)
