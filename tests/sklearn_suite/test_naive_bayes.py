"""scikit-learn's tests of its five naive Bayes classifiers, run on ours."""

from __future__ import annotations

from mercer.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB
from tests.sklearn_suite._swap import load_swapped

globals().update(
    load_swapped(
        "sklearn.tests.test_naive_bayes",
        {model.__name__: model for model in (BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB)},
        exclude={
            "test_gnb_check_update_with_no_data": "tests a private helper that merges moments; ours is a statistic",
            "test_discretenb_provide_prior": "needs the classes of a fit that failed, which here leaves no trace; what "
            "it says of priors is in tests/naive_bayes/test_discrete.py",
            "test_gnb_array_api_compliance": "other array libraries are not accepted, nor does the tag say so",
        },
    )
)
