"""The first things a user does, in an environment that has mercer and what it depends on, and nothing else.

`make smoke` builds the wheel, installs it into an empty environment and runs this there, from a folder without sources.
"""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

#: what can be shown as a frame
TRACE = "LinearThreshold().fit([[0.0], [1.0]], [0, 1]).trace_"
#: what is done without the package, and the extra that has to be named; `gpu` is not among them: there are no
#: tensors without torch, and `serve` is tried at the command line
WITHOUT = {
    "pandas": ("frames", f"{TRACE}.frame('pandas')"),
    "polars": ("frames", f"{TRACE}.frame('polars')"),
    "matplotlib": ("plot", "KernelDensity().fit([[0.0], [1.0], [3.0]]).plot()"),
    "formulaic": ("formula", "import pyarrow; TableFeatures(formula='a').fit(pyarrow.table({'a': [1.0, 2.0, 3.0]}))"),
    "distributed": ("dask", "engine('dask').__enter__()"),
    "duckdb": ("duckdb", "data.read_table('cells.duckdb')"),
    "python_calamine": ("excel", "data.read_table('cells.xlsx')"),
    "adbc_driver_postgresql": ("postgresql", "data.open('postgresql://me@host/cells', sql='SELECT 1 AS a').schema"),
    "onnx": ("onnx", "from mercer.export import to_onnx; to_onnx(LinearRegression().fit([[0.0], [2.0]], [1.0, 5.0]))"),
}


def main() -> None:
    with TemporaryDirectory() as folder:
        _compare_and_predict(Path(folder))
        _say_what_is_missing(Path(folder))
    print("smoke test passed")  # noqa: T201


def _compare_and_predict(folder: Path) -> None:
    from sklearn.datasets import load_breast_cancer

    _mercer(folder, "--version")
    _mercer(folder, "compare", "breast-cancer", "--report", "report.html", "--save", "best.mercer")
    assert (folder / "report.html").stat().st_size > 100_000
    rows = load_breast_cancer()
    lines = [",".join(map(str, row)) for row in rows.data]
    (folder / "rows.csv").write_text("\n".join([",".join(rows.feature_names), *lines]))
    _mercer(folder, "predict", "best.mercer", "rows.csv", "-o", "predicted.csv")
    assert len((folder / "predicted.csv").read_text().splitlines()) == len(rows.data) + 1
    rejected = _mercer(folder, "serve", "best.mercer", fails=find_spec("uvicorn") is None)
    assert "pip install 'mercer[serve]'" in rejected


def _say_what_is_missing(folder: Path) -> None:
    for name in ("cells.duckdb", "cells.xlsx"):
        (folder / name).touch()
    for package, (extra, code) in WITHOUT.items():
        if find_spec(package) is not None:
            raise SystemExit(f"{package} is installed: this environment is not the empty one it should be")
        said = _run(folder, sys.executable, "-c", f"from mercer import *; {code}", fails=True)
        assert f"pip install 'mercer[{extra}]'" in said, f"without {package}: {said}"


def _mercer(folder: Path, *words: str, fails: bool = False) -> str:
    return _run(folder, str(Path(sys.executable).with_name("mercer")), *words, fails=fails)


def _run(folder: Path, *words: str, fails: bool) -> str:
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
    assert (done.returncode != 0) == fails, done.stdout + done.stderr
    return done.stdout + done.stderr


if __name__ == "__main__":
    main()
