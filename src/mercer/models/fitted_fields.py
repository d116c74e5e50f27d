"""Fitted attributes that many estimators have, as they are declared for model files."""

from __future__ import annotations

from mercer._stored import Check, any_rows, either, flags, floats, integers, matrix, optional, part_of, real, whole
from mercer.models.base import Plan
from mercer.stats.by_class import ByClass

#: number and names of columns are those of every estimator of scikit-learn: `files` declares them
FITTED: dict[str, Check] = {"plan_": part_of(Plan)}
#: of linear models, with one target or several
FITTED_LINEAR = FITTED | {
    "coef_": either(matrix("d"), matrix("td")),
    "intercept_": either(real(), floats("t"), floats(".")),
}
#: of classifiers that learn from statistics
FITTED_CLASSES = FITTED | {"statistic_": part_of(ByClass), "class_count_": floats("k"), "class_prior_": floats("k")}
FITTED_COUNTS = FITTED | {"statistic_": part_of(ByClass), "class_count_": floats("k"), "class_log_prior_": floats("k")}
FITTED_GAUSSIANS: dict[str, Check] = {
    "_priors": floats("k"),
    "_densities": part_of(d="d", k="k"),
    "priors_": floats("k"),
    "class_prior_": floats("k"),
    "means_": floats("kd"),
}
FITTED_SMOOTHER = FITTED | {"_seen": flags(".")}
FITTED_MACHINE = FITTED | {
    "support_": integers("n"),
    "_comparison": part_of(n="n"),
    "support_vectors_": any_rows("."),
    "_dual_coef_": matrix("pn"),
    "dual_coef_": matrix("pn"),
    "_intercept_": floats("."),
    "intercept_": floats("."),
    "_gamma": real(),
    "_n_support": optional(integers(".")),
    "_fitted_price": real(),
    "fit_status_": whole(),
}
FITTED_TEXT = FITTED | {"_chosen": flags("v"), "_seen": part_of(v="v")}
