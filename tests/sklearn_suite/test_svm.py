"""scikit-learn's tests of its support vector machines, those that are about SVC and SVR, run on ours."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from sklearn import svm

from mercer.svm import SVC, SVR
from tests.sklearn_suite._swap import load_swapped

#: kernels of these tests that are not positive definite, a sigmoid for instance, are said to be none
pytestmark = pytest.mark.filterwarnings("ignore::mercer._errors.IndefiniteKernelWarning")

SWAPPED = SimpleNamespace(**{**vars(svm), "SVC": SVC, "SVR": SVR})
#: SVC or SVR, and not the linear ones
THEM = r"\bSV[CR]\b"

globals().update(
    load_swapped(
        "sklearn.svm.tests.test_svm",
        {"svm": SWAPPED, "SVR": SVR},
        naming=THEM,
        exclude={
            "test_svr_errors": "wants a function of the wrong shape to pass a fit and fail in predict; fit raises",
            "test_hasattr_predict_proba": "wants no probabilities without probability=True; there always are",
        },
    )
)
