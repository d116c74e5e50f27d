"""scikit-learn's tests of its support vector machines, those that are about SVC and SVR, run on ours."""

from __future__ import annotations

import inspect
import re
from types import SimpleNamespace
from typing import Any

import pytest
from sklearn import svm

from mercer.models.svm.svc import SVC
from mercer.models.svm.svr import SVR
from tests.sklearn_suite._swap import load_swapped

#: kernels of these tests that are not positive definite, a sigmoid for instance, are said to be none
pytestmark = pytest.mark.filterwarnings("ignore::mercer._errors.IndefiniteKernelWarning")

SWAPPED = SimpleNamespace(**{**vars(svm), "SVC": SVC, "SVR": SVR})


def about_them(tests: dict[str, Any]) -> dict[str, Any]:
    """Tests of other machines, linear ones say, are scikit-learn's own or of another suite."""
    others = [name for name in tests if name.startswith("test_") and not _names_them(tests[name])]
    return {name: value for name, value in tests.items() if name not in others}


def _names_them(test: Any) -> bool:
    return re.search(r"\bSV[CR]\b", inspect.getsource(test)) is not None


globals().update(
    about_them(
        load_swapped(
            "sklearn.svm.tests.test_svm",
            {"svm": SWAPPED, "SVR": SVR},
            exclude={
                "test_svr_errors": "wants a function of the wrong shape to pass a fit and fail in predict; fit refuses",
                "test_hasattr_predict_proba": "wants no probabilities without probability=True; there always are",
            },
        )
    )
)
