"""Python: a module that stands alone."""

from __future__ import annotations

import ast
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_iris

import mercer as m
from mercer.export import to_python

X, Y = load_iris(return_X_y=True)


def module_of(model: Any) -> dict[str, Any]:
    module: dict[str, Any] = {}
    exec(to_python(model), module)
    return module


def test_it_imports_nothing_but_math() -> None:
    tree = ast.parse(to_python(m.QuadraticDiscriminantAnalysis().fit(X, Y)))
    imported = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    assert [ast.unparse(node) for node in imported] == ["import math"]


def test_the_module_runs_without_packages(tmp_path: Path) -> None:
    model = m.LogisticRegression().fit(X, Y)
    (tmp_path / "flowers.py").write_text(to_python(model), encoding="utf-8")
    code = "import flowers; print(flowers.predict({'x0': 5.1, 'x1': 3.5, 'x2': 1.4, 'x3': 0.2}))"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r}); {code}"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert int(done.stdout) == model.predict([[5.1, 3.5, 1.4, 0.2]])[0]


def test_none_and_nan_are_missing() -> None:
    module = module_of(m.GaussianNB().fit(X, Y))
    rows = [{"x0": 5.0, "x1": gap, "x2": 1.0, "x3": gap} for gap in (None, math.nan, np.float64("nan"))]
    first, *others = [module["predict_proba"](row) for row in rows]
    assert all(other == first for other in others)
    assert list(first) == [0, 1, 2]


def test_scores_far_apart_do_not_overflow() -> None:
    module = module_of(m.LogisticRegression(C=1e6).fit([[0.0], [1.0]], ["no", "yes"]))
    assert module["predict_proba"]({"x0": 1e6}) == {"no": 0.0, "yes": 1.0}
    assert module["predict_proba"]({"x0": -1e6}) == {"no": 1.0, "yes": 0.0}


def test_labels_that_look_like_code_stay_text() -> None:
    nasty = '"""\'\\\n__import__("os")'
    module = module_of(m.LogisticRegression().fit([[0.0], [1.0]], ["no", nasty]))
    assert module["predict"]({"x0": 9.0}) == nasty


def test_a_wide_sum_compiles() -> None:
    rows = np.random.default_rng(0).normal(size=(20, 3000))
    model = m.Ridge().fit(rows, rows[:, 0])
    got = module_of(model)["predict"]({f"x{j}": value for j, value in enumerate(rows[0].tolist())})
    np.testing.assert_allclose(got, model.predict(rows[:1])[0], atol=1e-9)
