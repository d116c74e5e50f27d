"""Values other than models that model files may contain: parts of models, their results, and intermediate results."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn import model_selection
from sklearn.covariance import EmpiricalCovariance
from sklearn.preprocessing import LabelBinarizer, LabelEncoder

import mercer
from mercer import decision as decide
from mercer import density, families, kernels
from mercer.base.kernel_choice import AnyPolynomial
from mercer.base.linear_form import (
    CentredColumns,
    CentredMonomials,
    CentredSquares,
    ColumnSelection,
    ColumnStatistics,
    Indicators,
    ObservedColumns,
    RowStatistics,
)
from mercer.base.sources import Outline
from mercer.data.coding import Coded
from mercer.data.column_values import ColumnValues
from mercer.data.formats import DateFormat, NumberFormat
from mercer.data.kinds import Kind
from mercer.decision._conformal import Guarantee
from mercer.decision._costs import Costs, Range
from mercer.density import Autocorrelation
from mercer.density._rules import UnscaledScott, UnscaledSilverman
from mercer.density._sums import Tolerance
from mercer.discriminant_analysis._classes import SharedAxes
from mercer.discriminant_analysis._covariance import FixedShrinkage, OracleShrinkage, StandardisedShrinkage, Structure
from mercer.discriminant_analysis._linear import Directions
from mercer.families import Distribution
from mercer.families.links import LogOdds
from mercer.families.penalties import Strengths
from mercer.families.response import SoftmaxResponse
from mercer.kernel_approximation._nystroem import LandmarksByMatrix
from mercer.kernel_approximation.landmarks import Landmarks
from mercer.kernel_approximation.nystroem_map import LandmarkMap
from mercer.kernels._counting import Runs
from mercer.kernels.explicit import ComposedMap
from mercer.kernels.monomials import MonomialOrder
from mercer.linear_model.ridge import IdentityEstimator
from mercer.linear_model.separation import SeparationFinding
from mercer.matrices.streamed import RowSample, Survey, SurveyLevels
from mercer.naive_bayes._unweighted import UnweightedPart
from mercer.naive_bayes.parts import NormalFit, Smoothing
from mercer.optim.certificate import Certificate
from mercer.optim.problem import MidwayResponse
from mercer.preprocessing.statistics import StatisticFeatures
from mercer.preprocessing.table_source import ColumnScan
from mercer.preprocessing.treatments import CalendarParts, LeftOutTreatment, MissingOnlyTreatment, NumberSpread
from mercer.stats.distinct_rows import DistinctRows
from mercer.stats.goodness import Goodness
from mercer.stats.normal_equations import NormalEquations, RFactor
from mercer.stats.quadratic import QuadraticExpansion, SoftmaxExpansion
from mercer.text._interpreted import OtherVocabulary
from tests.files._cases import numbers, two

GIVEN: dict[str, Any] = {
    "families": [families.NegativeBinomial(), families.Tweedie(1.5), families.Binomial(3), families.Histogram(4)],
    "links": [families.CLOGLOG, families.power_link(0.3), families.NEGATIVE_INVERSE],
    "penalties": [families.L2(0.5), families.L1(np.array([1.0, 2.0])), families.ElasticNet(1.0, 0.3)],
    "kernels": [
        kernels.Matern(length_scale=2.0) + kernels.RationalQuadratic(),
        kernels.Normalised(kernels.Polynomial(3)) * 2.0,
        kernels.Columns(kernels.RBF(1.0), (0, 2)),
        kernels.Linear() ** 2 + 3 * kernels.Constant(2.0),
    ],
    "kernels of counts": [kernels.ChiSquared(), kernels.HistogramIntersection(), kernels.AdditiveChiSquared()],
    "kernels of strings": [kernels.Spectrum(3), kernels.Subsequence(2), kernels.WeisfeilerLehman()],
    "other families": [families.Beta(), families.Exponential(), families.InverseGaussian(), families.Multinomial()],
    "other links": [families.PROBIT, families.CAUCHIT, families.power_link(-1.0), LogOdds(2.0)],
    "other kernels": [kernels.Sigmoid(), kernels.Quadratic(), kernels.Cosine(), kernels.Laplacian(), kernels.RBF(0.2)],
    "other rules": [density.Silverman(), density.LikelihoodCV(), density.ImprovedSheatherJones()],
    "windows": [density.Triangular(), density.Biweight(), density.Cosine(), density.Uniform()],
    "folds": [
        model_selection.GroupKFold(3),
        model_selection.LeaveOneOut(),
        model_selection.ShuffleSplit(),
        model_selection.StratifiedKFold(),
        model_selection.StratifiedShuffleSplit(),
        model_selection.TimeSeriesSplit(),
    ],
    "rules": [
        density.Scott(),
        density.PlugIn(),
        density.LeastSquaresCV(),
        density.Epanechnikov(),
        UnscaledScott(),
        UnscaledSilverman(),
        Autocorrelation(density.Epanechnikov(), 2),
        Tolerance(1e-8, 1e-12),
    ],
}


def answers() -> dict[str, Any]:
    """Return what methods answer, and may be kept."""
    X, y = numbers().X, numbers().y
    decision = decide.Decision(mercer.GaussianNB()).fit(X, two().y)
    return {
        "priors and thresholds": [decision.estimate_priors(X), decision.choose_threshold(X, two().y)],
        "ranking": mercer.DensityOutliers(random_state=0).fit(X).ranking(),
        "distribution": mercer.GLM().fit(X, X @ [1.0, -0.2, 2.0]).predict_distribution(X),
        "labels": [LabelEncoder().fit(y), LabelBinarizer().fit(y), EmpiricalCovariance().fit(X)],
        "distributions": _distributions(),
        "linear forms": _linear_forms(),
        "feature maps of kernels": _feature_maps(),
        "summaries of tables": _summaries(),
        "parts of fits": _parts_of_fits(),
        "sums": _sums(),
    }


def _distributions() -> list[Any]:
    mean = np.array([0.2, 0.5, 0.7])
    scalar = [
        families.Bernoulli(),
        families.Poisson(),
        families.Gamma(),
        families.InverseGaussian(),
        families.NegativeBinomial(2.0),
        families.Tweedie(1.5),
    ]
    shares = families.Categorical(2).at_mean(np.column_stack([mean, 1 - mean]))
    prior = families.Poisson().prior(4, rate=np.array(1.0))
    return [
        *(Distribution(family, family.at_mean(mean)) for family in scalar),
        Distribution(families.Categorical(2), shares),
        prior,
    ]


def _linear_forms() -> list[Any]:
    X, y = numbers().X, numbers().y
    about = np.array([10.0, 10.0, 10.0])
    return [
        StatisticFeatures(mercer.GaussianNB().fit(X, y)).fit(X, y),
        CentredColumns(about),
        CentredSquares(about),
        CentredMonomials(about),
        ColumnStatistics(families.Gaussian()),
        RowStatistics(families.MultivariateGaussian()),
        ColumnSelection(CentredColumns(about[:2]), np.array([0, 2])),
        Indicators(CentredColumns(np.zeros(1)), 3),
        ObservedColumns(CentredSquares(about), np.arange(3), np.array([1])),
    ]


def _feature_maps() -> list[Any]:
    X = numbers().X
    documents = ["ant bee", "bee", "cat ant"]
    plain = kernels.Polynomial(2) * kernels.Linear() + kernels.Constant(3.0)
    spectrum = kernels.Spectrum(2).feature_map(documents)
    return [
        (kernels.Normalised(plain) * 2.0).feature_map(3),
        kernels.Linear().of(kernels.Quadratic().feature_map(3)),
        ComposedMap(kernels.Linear().feature_map(3), CentredColumns(np.zeros(3)), False),
        spectrum,
        spectrum.vocabulary.count(documents),
        kernels.WeisfeilerLehman().feature_map([([(0, 1), (1, 2)], [0, 1, 0]), ([(0, 1)], [1, 1])]),
        MonomialOrder(3, 0, 2),
        kernels.OneDimensional(CentredColumns(np.zeros(1))),
        AnyPolynomial(2.5, 1.0, 1.0),
        Runs(np.array([1, 2, 3]), np.array([1, 3])),
        LandmarkMap(kernels.RBF(0.1), X[:3]),
        Landmarks(np.array([0, 2, 1]), 0.1, 45),
        LandmarksByMatrix(kernels.RBF(0.1)),
    ]


def _summaries() -> list[Any]:
    X = numbers().X
    values = ColumnValues(Kind.NUMBER, 9, 1, None)
    drawn = RowSample(8, ((np.array([0.1, 0.4]), (X[:2],)),))
    levels = SurveyLevels(("a", "b"), ("a",))
    sample = DistinctRows.zero(3, most=8).update(X[:5], np.zeros(5, dtype=int))
    return [
        Survey(
            rows=5,
            heavy=5,
            weight=5.0,
            response=1.0,
            offset=0.0,
            labels=np.array(["no", "yes"]),
            label_weights=np.array([2.0, 3.0]),
            lowest=X.min(axis=0),
            highest=X.max(axis=0),
            largest=np.zeros(0),
            levels=(levels,),
            sample=drawn,
            weighted=False,
            has_offset=False,
        ),
        Coded(np.array([0, 1, -1]), np.array(["a", "b"], dtype=object)),
        DateFormat("dmy", "as in Bonn"),
        NumberFormat(",", "€"),
        values,
        drawn,
        Outline(sample, X.min(axis=0), X.max(axis=0), np.zeros(3, dtype=bool)),
        ColumnScan(values, NumberSpread.of(X[:, 0]), CalendarParts.of(np.array([19_000.0, 19_001.5]), "UTC")),
        levels,
        MissingOnlyTreatment("x"),
        LeftOutTreatment("x", "of one value"),
        OtherVocabulary([1, 2], np.array([1, 1]), np.array([1, 2]), 2),
    ]


def _parts_of_fits() -> list[Any]:
    X = numbers().X
    return [
        Guarantee(0.9, "nine of ten"),
        Costs(np.array([[0.0, 1.0], [5.0, 0.0]]), np.array(["no", "yes"])),
        Range("no", 0.0, 0.4),
        Strengths(np.zeros(3), np.ones(3), np.zeros(3)),
        FixedShrinkage(0.1),
        OracleShrinkage(),
        StandardisedShrinkage(0.1),
        Structure("full", True),
        Directions(np.eye(3)[:, :2], np.array([0.7, 0.3])),
        SharedAxes(np.eye(3), np.ones((2, 3))),
        Smoothing(1.0, 1e-9),
        NormalFit(X.mean(axis=0), np.cov(X.T), Certificate.closed_form("moments of the rows")),
        SeparationFinding("separation", "warning", "A column separates.", "Penalise it.", ("x0",), {"x0": "+∞"}),
        IdentityEstimator(),
        MidwayResponse(families.Poisson(), families.LOG, 2.0),
    ]


def _sums() -> list[Any]:
    X, y = numbers().X, numbers().X[:, 0] * 2
    response = MidwayResponse(families.Gaussian(), families.IDENTITY, 2.0)
    return [
        DistinctRows.zero(3, most=8).update(X[:5], np.zeros(5, dtype=int)),
        Goodness(response, np.zeros(4), 3.0, 2.0, 0.1, 4.0, 45.0, 45),
        NormalEquations.zero(3, 1).update(X, y[:, None]),
        RFactor.zero(3, 1),
        QuadraticExpansion.at(response, np.zeros(3)),
        SoftmaxExpansion.at(SoftmaxResponse(3), np.zeros((3, 3))),
        UnweightedPart(mercer.GaussianNB().fit(X, numbers().y).statistic_.parts[0].pool()),
    ]
