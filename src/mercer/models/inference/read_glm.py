"""A fitted `GLM` and its data, as inference needs them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mercer._errors import ColumnMismatchError, InferenceError
from mercer._suggest import listed
from mercer._typing import Array
from mercer.designs import Design, Observations, design_of
from mercer.families import Categorical, NegativeBinomial, penalty_from, response_family_from
from mercer.families.penalties import Strengths
from mercer.families.response import Response
from mercer.models.base import checked_table, checked_weight, column_names
from mercer.models.glm.inputs import read_offset
from mercer.models.glm.separation import CODE, weak_prior
from mercer.models.glm.target import read_target
from mercer.models.glm.trials import is_grouped, read_trials
from mercer.models.inference.fits import Beside, Reading, fitted_classes, fitted_of, refuse_other_classes
from mercer.solvers.problem import Problem


def read_glm(model: Any, X: Any, y: Any, beside: Beside) -> Reading:
    if model.kernel is not None:
        raise InferenceError(
            "a GLM with a kernel has no coefficients to test: its function is a sum over all rows. Bootstrap its "
            "predictions, or fit a GLM to the features themselves, e.g. kernel.feature_map(columns)."
        )
    penalty, trials = penalty_from(model.penalty), read_trials(response_family_from(model.family), y)
    table, y = checked_table(model, X, trials.y, reset=False, codes=True)
    weight = trials.weighted(checked_weight(beside.sample_weight, y))
    target = read_target(model.family_, y, weight)
    drop_first = penalty is None and model.fit_intercept
    design, terms = design_of(table, intercept=model.fit_intercept, drop_first=drop_first, weight=weight)
    _refuse_other_data(model, terms.names, target.classes)
    offset = read_offset(beside.offset, beside.exposure, model.link_, len(y))
    observations = Observations(design, target.values, weight, offset)
    given = Strengths.none(len(terms.names)) if penalty is None else penalty.strengths(len(terms.names))
    separated = CODE in model.diagnosis_.codes
    remedied = separated and model.on_separation == "ridge"
    strengths = weak_prior(observations) if remedied else design.coordinates.strengths(given)

    def new(X: Any, offset: Any, exposure: Any) -> tuple[Design, Array | None]:
        table, _ = checked_table(model, X, reset=False, codes=True)
        return terms.design(table), read_offset(offset, exposure, model.link_, table.n_rows)

    # only the r of a negative binomial is found with the coefficients, and only if the user did not give it
    estimated = int(model.family_ != response_family_from(model.family) and isinstance(model.family_, NegativeBinomial))
    more = {
        "title": _title(model),
        "frequency": model.weight_kind == "frequency",
        "family_parameters": estimated,
        "trials": trials.number,
    }
    if isinstance(model.family_, Categorical):
        fitted = fitted_classes(model, observations, strengths, terms.names, model.reference, **more)
    else:
        problem = Problem(observations, Response(model.family_, model.link_), strengths)
        w = design.coordinates.from_user(model.coef_, model.intercept_)
        fitted = fitted_of(problem, w, terms.names, firth=separated and model.on_separation == "firth", **more)
    return Reading(fitted, new, column_names(model), _of_separation(model))


def _title(model: Any) -> str:
    grouped = is_grouped(response_family_from(model.family))
    family = "Binomial, trials of each row" if grouped else repr(model.family_)
    return f"GLM: {family}, {model.link_.name} link"


def _of_separation(model: Any) -> tuple[str, ...]:
    finding = next((finding for finding in model.diagnosis_ if finding.code == CODE), None)
    if finding is None:
        return ()
    told = {
        "firth": "The estimate is Firth's, whose profile intervals are better than those above.",
        "ridge": "A weak normal prior keeps them finite.",
    }
    return (f"{finding.sentence} {told.get(model.on_separation, 'Their errors and p-values mean nothing.')}",)


def _refuse_other_data(model: Any, names: Sequence[str], classes: Array | None) -> None:
    """Raise if levels of categories or classes are not those of the fit."""
    if list(names) != list(model.coefficient_names_):
        other = sorted(set(names) ^ set(model.coefficient_names_))
        raise ColumnMismatchError(
            f"X has other categories than the model was fitted to: {listed(other)}; give the data of the fit."
        )
    if classes is not None:
        refuse_other_classes(classes, model.classes_)
