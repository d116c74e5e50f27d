"""scikit-learn's tests of support vector machines on sparse rows, those that are about SVC and SVR, run on ours."""

from __future__ import annotations

import pytest

from tests.sklearn_suite._swap import load_swapped
from tests.sklearn_suite.test_svm import SWAPPED, THEM

pytestmark = pytest.mark.filterwarnings("ignore::mercer._errors.IndefiniteKernelWarning")

globals().update(load_swapped("sklearn.svm.tests.test_sparse", {"svm": SWAPPED}, naming=THEM))
