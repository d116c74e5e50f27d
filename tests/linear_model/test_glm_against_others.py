"""GLM against statsmodels and glum: family × link × penalty × weights × offset, to 1e-6."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from mercer import GLM
from mercer.families import L1, L2, Binomial, ElasticNet, InverseGaussian, NegativeBinomial, Tweedie

sm = pytest.importorskip("statsmodels.api", reason="statsmodels is a reference, not a dependency")
glum = pytest.importorskip("glum", reason="glum is a reference, not a dependency")

N, TRIALS = 300, 4
LINKS = {
    "identity": sm.families.links.Identity,
    "log": sm.families.links.Log,
    "logit": sm.families.links.Logit,
    "probit": sm.families.links.Probit,
    "cloglog": sm.families.links.CLogLog,
    "cauchit": sm.families.links.Cauchy,
    "inverse": sm.families.links.InversePower,
    "inverse_squared": sm.families.links.InverseSquared,
    "sqrt": sm.families.links.Sqrt,
}
INVERSES = {
    "identity": lambda eta: eta,
    "log": np.exp,
    "inverse": lambda eta: 1 / eta,
    "inverse_squared": lambda eta: eta**-0.5,
    "sqrt": np.square,
}


class Data(NamedTuple):
    X: Any
    y: Any
    weight: Any
    offset: Any


class Case(NamedTuple):
    """A model of ours, the family of theirs, and how responses of mean μ are drawn."""

    family: Any
    link: str
    theirs: Any
    draw: Any

    def __str__(self) -> str:
        return f"{self.family}-{self.link}"


def _share(eta: Any) -> Any:
    return 1 / (1 + np.exp(-eta))


CASES = [
    *(
        Case("gaussian", link, sm.families.Gaussian, lambda rng, mu: mu + 0.3 * rng.normal(size=N))
        for link in ("identity", "log", "inverse")
    ),
    *(
        Case("bernoulli", link, sm.families.Binomial, lambda rng, mu: rng.random(N) < mu)
        for link in ("logit", "probit", "cloglog", "cauchit")
    ),
    *(
        Case(Binomial(TRIALS), link, sm.families.Binomial, lambda rng, mu: rng.binomial(TRIALS, mu))
        for link in ("logit", "probit", "cloglog", "cauchit")
    ),
    *(
        Case("poisson", link, sm.families.Poisson, lambda rng, mu: rng.poisson(mu))
        for link in ("log", "identity", "sqrt")
    ),
    *(
        Case("gamma", link, sm.families.Gamma, lambda rng, mu: mu * rng.gamma(3, 1 / 3, size=N))
        for link in ("inverse", "log", "identity")
    ),
    *(
        Case(InverseGaussian(), link, sm.families.InverseGaussian, lambda rng, mu: rng.wald(mu, 4))
        for link in ("inverse_squared", "log", "inverse", "identity")
    ),
    *(
        Case(
            NegativeBinomial(2.0),
            link,
            lambda link: sm.families.NegativeBinomial(link, alpha=0.5),
            lambda rng, mu: rng.poisson(mu * rng.gamma(2, 0.5, size=N)),
        )
        for link in ("log", "identity", "sqrt")
    ),
    *(
        Case(
            Tweedie(1.5),
            link,
            lambda link: sm.families.Tweedie(link, var_power=1.5, eql=True),
            lambda rng, mu: rng.poisson(mu) * rng.gamma(2, 0.5, size=N),
        )
        for link in ("log", "identity", "sqrt")
    ),
]


def data_for(case: Case, *, weighted: bool = False, offset: bool = False) -> Data:
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, size=(N, 3)) * [1, 10, 0.1] + [0, 5, 100]
    eta = (X - [0, 5, 100]) @ [0.3, -0.02, 2.0] + 1.4
    added = rng.uniform(-0.2, 0.2, size=N) if offset else None
    eta = eta if added is None else eta + added
    mean = INVERSES[case.link](eta) if case.link in INVERSES else _share(eta - 1.4)
    weight = rng.integers(1, 4, size=N).astype(float) if weighted else None
    return Data(X, np.asarray(case.draw(rng, mean), dtype=float), weight, added)


def their_fit(case: Case, data: Data, weight_kind: str = "frequency") -> Any:
    weights = (
        {} if data.weight is None else {"freq_weights" if weight_kind == "frequency" else "var_weights": data.weight}
    )
    y = data.y
    if isinstance(case.family, Binomial):
        y = np.column_stack([y, TRIALS - y])
    model = sm.GLM(y, sm.add_constant(data.X), family=case.theirs(LINKS[case.link]()), offset=data.offset, **weights)
    return model.fit(maxiter=300, tol=1e-14, tol_criterion="params")


#: weights, offset; each alone distinguishes errors of both
NEITHER_OR_BOTH = [
    pytest.param(False, False, id="-"),
    pytest.param(True, True, id="weights-offset"),
    pytest.param(True, False, id="weights-", marks=pytest.mark.slow),
    pytest.param(False, True, id="-offset", marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("weighted", "offset"), NEITHER_OR_BOTH)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_unpenalised_fits_agree_with_statsmodels(case: Case, weighted: bool, offset: bool) -> None:
    data = data_for(case, weighted=weighted, offset=offset)
    model = GLM(case.family, case.link).fit(data.X, data.y, sample_weight=data.weight, offset=data.offset)
    theirs = their_fit(case, data)
    np.testing.assert_allclose(np.r_[model.intercept_, model.coef_], theirs.params, rtol=1e-6)
    np.testing.assert_allclose(model.deviance_, theirs.deviance, rtol=1e-8)
    np.testing.assert_allclose(model.dispersion_, theirs.scale, rtol=1e-6)
    np.testing.assert_allclose(model.df_residual_, theirs.df_resid)
    np.testing.assert_allclose(model.null_deviance_, theirs.null_deviance, rtol=1e-6)
    np.testing.assert_allclose(
        model.predict_linear(data.X, offset=data.offset), _eta(theirs, data), rtol=1e-6, atol=1e-6
    )
    if not isinstance(case.family, Tweedie):  # theirs is a quasi-likelihood
        np.testing.assert_allclose(model.log_likelihood_, theirs.llf, rtol=1e-8)


def _eta(theirs: Any, data: Data) -> Any:
    eta = sm.add_constant(data.X) @ theirs.params
    return eta if data.offset is None else eta + data.offset


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.family in ("gaussian", "gamma", InverseGaussian())], ids=str
)
def test_precisions_change_only_the_dispersion(case: Case) -> None:
    data = data_for(case, weighted=True)
    model = GLM(case.family, case.link, weight_kind="precision").fit(data.X, data.y, sample_weight=data.weight)
    frequent = GLM(case.family, case.link).fit(data.X, data.y, sample_weight=data.weight)
    theirs = their_fit(case, data, "precision")
    np.testing.assert_allclose(model.dispersion_, theirs.scale, rtol=1e-6)
    np.testing.assert_allclose(model.df_residual_, theirs.df_resid)
    np.testing.assert_allclose(model.log_likelihood_, theirs.llf, rtol=1e-8)
    np.testing.assert_array_equal(model.coef_, frequent.coef_)
    assert model.dispersion_ > frequent.dispersion_


def test_softmax_with_a_reference_class_agrees_with_mnlogit(rng: np.random.Generator) -> None:
    X = rng.normal(size=(N, 3))
    y = np.array(["a", "b", "c"])[np.argmax(X @ rng.normal(size=(3, 3)) + rng.gumbel(size=(N, 3)), axis=1)]
    model = GLM("categorical", reference="a").fit(X, y)
    theirs = sm.MNLogit(np.unique(y, return_inverse=True)[1], sm.add_constant(X)).fit(
        disp=0, method="newton", tol=1e-12
    )
    np.testing.assert_allclose(np.column_stack([model.intercept_, model.coef_])[1:].T, theirs.params, rtol=1e-6)
    np.testing.assert_array_equal(model.coef_[0], 0.0)
    np.testing.assert_allclose(model.log_likelihood_, theirs.llf, rtol=1e-10)
    np.testing.assert_allclose(model.null_deviance_, -2 * theirs.llnull, rtol=1e-8)


@pytest.mark.parametrize("case", [case for case in CASES if case.link == "log"], ids=str)
def test_an_exposure_multiplies_the_mean(case: Case) -> None:
    data = data_for(case, offset=True)
    exposure = np.exp(data.offset)
    model = GLM(case.family, case.link).fit(data.X, data.y, exposure=exposure)
    theirs = their_fit(case, data)
    np.testing.assert_allclose(np.r_[model.intercept_, model.coef_], theirs.params, rtol=1e-6)
    np.testing.assert_allclose(model.predict(data.X, exposure=exposure), theirs.fittedvalues, rtol=1e-6)


def test_the_r_of_a_negative_binomial_is_found_with_the_coefficients(rng: np.random.Generator) -> None:
    X = rng.normal(size=(N, 2))
    y = rng.poisson(np.exp(X @ [0.4, -0.3] + 1) * rng.gamma(2, 0.5, size=N))
    model = GLM("negative_binomial").fit(X, y)
    theirs = sm.NegativeBinomial(y, sm.add_constant(X)).fit(disp=0, method="newton", maxiter=200, tol=1e-12)
    np.testing.assert_allclose(np.r_[model.intercept_, model.coef_], theirs.params[:-1], rtol=1e-6)
    np.testing.assert_allclose(1 / model.family_.r, theirs.params[-1], rtol=1e-6)
    np.testing.assert_allclose(model.log_likelihood_, theirs.llf, rtol=1e-10)


PENALTIES = {
    "L2": (L2, {"l1_ratio": 0}),
    "L1": (L1, {"l1_ratio": 1}),
    "ElasticNet": (lambda strength: ElasticNet(strength, l1_ratio=0.3), {"l1_ratio": 0.3}),
}
GLUM = {
    "gaussian": "normal",
    "bernoulli": "binomial",
    "poisson": "poisson",
    "gamma": "gamma",
    InverseGaussian(): "inverse.gaussian",
    NegativeBinomial(2.0): glum.NegativeBinomialDistribution(0.5),
    Tweedie(1.5): glum.TweedieDistribution(1.5),
}


def penalised_case(family: Any) -> Case:
    return next(case for case in CASES if case.family == family and case.link in ("identity", "logit", "log"))


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize(("weighted", "offset"), NEITHER_OR_BOTH)
@pytest.mark.parametrize("family", GLUM, ids=str)
def test_penalised_fits_agree_with_glum(family: Any, weighted: bool, offset: bool, penalty: str) -> None:
    case = penalised_case(family)
    data = data_for(case, weighted=weighted, offset=offset)
    total = N if data.weight is None else data.weight.sum()
    make, theirs = PENALTIES[penalty]
    alpha = 0.02
    model = GLM(family, case.link, make(alpha * total), tol=1e-9, max_iter=1000)
    model.fit(data.X, data.y, sample_weight=data.weight, offset=data.offset)
    other = glum.GeneralizedLinearRegressor(
        family=GLUM[family], link=case.link, alpha=alpha, gradient_tol=1e-10, max_iter=3000, **theirs
    ).fit(data.X, data.y, sample_weight=data.weight, offset=data.offset)
    np.testing.assert_allclose(model.coef_, other.coef_, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(
        model.predict_linear(data.X), data.X @ other.coef_ + other.intercept_, rtol=1e-6, atol=1e-6
    )


@pytest.mark.parametrize("family", GLUM, ids=str)
@pytest.mark.parametrize("penalty", PENALTIES)
def test_each_coefficient_may_have_a_strength_of_its_own(family: Any, penalty: str) -> None:
    case = penalised_case(family)
    data = data_for(case)
    strengths = np.array([0.1, 5.0, 0.0])
    make, theirs = PENALTIES[penalty]
    model = GLM(family, case.link, make(0.02 * strengths * N), tol=1e-9, max_iter=1000).fit(data.X, data.y)
    other = glum.GeneralizedLinearRegressor(
        family=GLUM[family],
        link=case.link,
        alpha=0.02,
        P1=strengths,
        P2=strengths,
        gradient_tol=1e-10,
        max_iter=3000,
        **theirs,
    ).fit(data.X, data.y)
    np.testing.assert_allclose(model.coef_, other.coef_, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("family", GLUM, ids=str)
@pytest.mark.parametrize("penalty", [L2, L1, ElasticNet])
def test_a_prior_mean_pulls_as_an_offset_does(family: Any, penalty: Any) -> None:
    case = penalised_case(family)
    data = data_for(case)
    mean = np.array([0.2, 0.01, 0.0])
    strengths = np.array([3.0, 0.5, 1.0])
    about = GLM(family, case.link, penalty(strengths, mean=mean), tol=1e-9, max_iter=1000).fit(data.X, data.y)
    plain = GLM(family, case.link, penalty(strengths), tol=1e-9, max_iter=1000)
    plain.fit(data.X, data.y, offset=data.X @ mean)
    np.testing.assert_allclose(about.coef_, plain.coef_ + mean, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(about.deviance_, plain.deviance_, rtol=1e-8)


def test_categories_are_the_indicators_of_their_levels(rng: np.random.Generator) -> None:
    pd = pytest.importorskip("pandas", reason="frames are optional")
    frame = pd.DataFrame({"x": rng.normal(size=N), "city": rng.choice(["Bonn", "Köln", "Ulm"], size=N)})
    y = rng.poisson(np.exp(0.2 * frame["x"] + frame["city"].map({"Bonn": 0.0, "Köln": 0.5, "Ulm": 1.0})))
    model = GLM("poisson").fit(frame, y)
    theirs = sm.GLM.from_formula("y ~ x + C(city)", frame.assign(y=y), family=sm.families.Poisson()).fit(tol=1e-14)
    assert model.coefficient_names_ == ["x", "city[Köln]", "city[Ulm]"]
    expected = theirs.params[["x", "C(city)[T.Köln]", "C(city)[T.Ulm]"]]
    np.testing.assert_allclose(model.coef_, expected, rtol=1e-6)
