"""Declarations of the fitted attributes that many estimators have, for model files."""

from __future__ import annotations

from mercer._stored import (
    Check,
    any_rows,
    each_of,
    either,
    flags,
    floats,
    integers,
    mapping,
    matrix,
    optional,
    part_of,
    real,
    reals,
    sequence,
    whole,
)
from mercer.base.diagnosis import Diagnosis
from mercer.base.validation import Plan
from mercer.kernels.positive_definite import PositiveDefinite
from mercer.optim.certificate import Certificate
from mercer.stats.by_class import ByClass

#: fields of all estimators, without the number and names of columns, which `files` declares as for scikit-learn
FITTED: dict[str, Check] = {
    "plan_": part_of(Plan),
    "certificate_": part_of(Certificate),
    "diagnosis_": optional(part_of(Diagnosis, PositiveDefinite)),
    "_is_partial": part_of(bool),
    "n_iter_": optional(either(whole(0), integers(), sequence(".", whole(0)))),
}
#: fields of linear models, with one target or several
FITTED_LINEAR = FITTED | {
    "coef_": either(matrix("d"), matrix("td")),
    "intercept_": either(real(), floats("t"), floats(".")),
}
#: fields of linear models with one target
FITTED_ONE_TARGET = FITTED_LINEAR | {"coef_": matrix("d"), "intercept_": real()}
#: fields of linear models that choose a penalty along a path, or one for each of several kinds of penalty
FITTED_PATHS = FITTED_LINEAR | {
    "alpha_": real(),
    "alphas_": either(reals("a"), reals("ra")),
    "mse_path_": floats(),
    "dual_gap_": either(real(), floats("t")),
}
#: fields of classifiers that learn from statistics
FITTED_CLASSES = FITTED | {
    "statistic_": part_of(ByClass),
    "_classes_fixed": part_of(bool),
    "class_count_": floats("k"),
    "class_prior_": floats("k"),
}
#: the same for classifiers of counts
FITTED_COUNTS = FITTED | {
    "statistic_": part_of(ByClass),
    "_classes_fixed": part_of(bool),
    "class_count_": floats("k"),
    "class_prior_": floats("k"),
    "class_log_prior_": floats("k"),
    "_sparse_type": optional(part_of(type)),
}
#: fields of classifiers with normal densities
FITTED_GAUSSIANS: dict[str, Check] = {
    "_priors": floats("k"),
    "_densities": part_of(d="d", k="k"),
    "priors_": floats("k"),
    "class_prior_": floats("k"),
    "means_": floats("kd"),
}
#: fields of support vector machines
FITTED_MACHINE = FITTED | {
    "support_": integers("n"),
    # empty if a matrix of kernel values was given
    "support_vectors_": either(floats("0 0"), any_rows("n", "d")),
    "_dual_coef_": matrix("pn", kinds="f"),
    "dual_coef_": matrix("pn", kinds="f"),
    "_intercept_": floats("."),
    "intercept_": floats("."),
    "_gamma": real(),
    "_n_support": optional(integers(".")),
    "_fitted_price": real(),
    "fit_status_": whole(),
    "_sparse": part_of(bool),
    "shape_fit_": each_of(whole(0), whole(0)),
    "approximation_": optional(part_of()),
}
#: fields of kernel models that keep their rows; a vector of coefficients for one output
FITTED_KERNEL_ROWS: dict[str, Check] = {
    "X_fit_": optional(any_rows("n", "d")),
    "dual_coef_": optional(either(floats("n"), floats("n."))),
    "approximation_": optional(part_of()),
}
#: fields of vectorizers with a vocabulary
FITTED_TEXT = FITTED | {
    "fixed_vocabulary_": part_of(bool),
    "_stop_words_id": whole(),
    "_is_column": flags("v"),
    "_all_terms": part_of(v="v"),
    "_column_terms": optional(part_of()),
    "_column_of_term": optional(mapping(part_of(str), whole(0))),
}
