"""scikit-learn's tests of its linear support vector machines, run on ours; `test_svm` has the others of that module.

Those on sparse rows, too: `test_svm_sparse` has the others."""

from __future__ import annotations

from types import SimpleNamespace

from sklearn import svm

from mercer.svm import LinearSVC, LinearSVR
from tests.sklearn_suite._swap import load_swapped

SWAPPED = {"LinearSVC": LinearSVC, "LinearSVR": LinearSVR}

SVM = SimpleNamespace(**{**vars(svm), **SWAPPED})

TESTS = load_swapped(
    "sklearn.svm.tests.test_svm",
    {"svm": SVM, **SWAPPED},
    naming="LinearSV",
    exclude={
        "test_linear_svm_convergence_warnings": "wants two steps not to be enough for six points, which they are here; "
        "the warning is tested in tests/svm/test_linear_svc.py and test_linear_svr.py",
    },
)

globals().update(TESTS)
globals().update(load_swapped("sklearn.svm.tests.test_sparse", {"svm": SVM}, naming="LinearSV"))
