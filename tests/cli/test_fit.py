"""`mercer fit` writes a model that accepts the table unchanged."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

import mercer
from mercer._errors import WriteError
from mercer.base import estimator_named, model_names, traits_of
from mercer.cli._options import parse_settings
from tests.cli._program import Run


def test_inferred_options_are_printed(run: Run, people: Path, tmp_path: Path) -> None:
    result = run(
        "fit", people, "--target", "size", "--model", "LogisticRegression", "--set", "C=10", "-o", tmp_path / "m"
    )
    assert (result.exit_code, result.stdout) == (0, "")
    assert "80 rows, target 'size'" in result.stderr
    assert "city    category    Bonn, Jena, Ulm" in result.stderr
    assert "Certificate: " in result.stderr
    assert mercer.load(tmp_path / "m")[-1].C == 10


def test_settings_are_numbers_words_or_nothing(run: Run, people: Path, tmp_path: Path) -> None:
    settings = ["--set", "alpha=0.5", "--set", "fit_intercept=False", "--set", "solver=auto"]
    assert run("fit", people, "--target", "height", "--model", "Ridge", *settings, "-o", tmp_path / "m").exit_code == 0
    ridge = mercer.load(tmp_path / "m")[-1]
    assert (ridge.alpha, ridge.fit_intercept, ridge.solver) == (0.5, False, "auto")


def test_warnings_about_future_defaults_are_left_to_python(run: Run, tmp_path: Path) -> None:
    """A class of one row has no inner folds, so that LogisticRegressionCV uses the defaults of scikit-learn."""
    table, saved = tmp_path / "t.csv", tmp_path / "m.mercer"
    lines = [f"{(7 * i) % 40 / 10},{'one' if i == 8 else 'high' if i % 3 else 'low'}" for i in range(40)]
    table.write_text("x,y\n" + "\n".join(lines) + "\n")
    fitted = run("fit", table, "--target", "y", "--model", "LogisticRegressionCV", "-o", saved)
    compared = run("compare", table, "--target", "y", "--models", "LogisticRegressionCV")
    assert (fitted.exit_code, compared.exit_code) == (0, 0)
    for said in (fitted.output, compared.output):
        assert "The least populated class in y has only 1 members" in said
        assert "FutureWarning" not in said
        assert "will change" not in said


@pytest.mark.filterwarnings("ignore::mercer._errors.CollinearWarning")  # a level for each category, and no penalty
@pytest.mark.parametrize("name", ["GaussianNB", "SVC", "LinearDiscriminantAnalysis", "Perceptron", "Lasso", "GLM"])
def test_models_of_every_kind_accept_the_table(run: Run, people: Path, tmp_path: Path, name: str) -> None:
    target = "size" if traits_of(estimator_named(name)).classifies else "height"
    saved = tmp_path / "m.mercer"
    assert run("fit", people, "--target", target, "--model", name, "-o", saved, "-q").exit_code == 0
    result = run("predict", saved, people, "-q")
    assert result.exit_code == 0, result.output
    assert len(result.stdout.splitlines()) == 81


@pytest.mark.parametrize(
    ("given", "meant"),
    [("10", 10), ("inf", math.inf), ("-inf", -math.inf), ("None", None), ('["a", 1]', ["a", 1]), ("a=b", "a=b")],
)
def test_settings_are_parsed_by_their_form(given: str, meant: object) -> None:
    assert parse_settings([f"C={given}"]) == {"C": meant}


def test_every_public_predictor_can_be_fitted_by_name() -> None:
    predicting = {name for name in mercer.__all__ if hasattr(getattr(mercer, name), "predict")}
    wrappers = {"Calibrated", "ConformalClassifier", "ConformalRegressor", "Decision", "DensityOutliers"}
    assert predicting - wrappers == {*model_names()}


def test_intervals_and_sets_need_rows_set_aside(run: Run, people: Path, tmp_path: Path) -> None:
    saved = tmp_path / "m.mercer"
    options = ["--model", "Ridge", "--conformal", "0.8", "-o", saved, "-q"]
    assert run("fit", people, "--target", "height", *options).exit_code == 0
    rows = run("predict", saved, people, "--intervals", "-q").stdout.splitlines()
    assert rows[0] == '"prediction","lower","upper"'
    assert all(lower < value < upper for value, lower, upper in ([*map(float, row.split(","))] for row in rows[1:]))
    options[1] = "NaiveBayes"
    assert run("fit", people, "--target", "size", *options).exit_code == 0
    sets = [row.split(",")[-1] for row in run("predict", saved, people, "--intervals", "-q").stdout.splitlines()[1:]]
    assert {*sets} <= {"short", "tall", "short|tall", '""'}


def test_calibration_is_an_option(run: Run, people: Path, tmp_path: Path) -> None:
    options = ["--model", "LinearSVC", "--calibrate", "platt", "-o", tmp_path / "m", "-q"]
    assert run("fit", people, "--target", "size", *options).exit_code == 0
    assert "probability[tall]" in run("predict", tmp_path / "m", people, "-q").stdout


def test_kinds_are_stored_with_the_model(run: Run, tmp_path: Path) -> None:
    rows = [f"{i % 5 + 1},0{i % 3},{i % 5 + i % 3}" for i in range(60)]
    (path := tmp_path / "a.csv").write_text("\n".join(["stars,plz,y", *rows]))
    saved = tmp_path / "m.mercer"
    kinds = ["--kind", "stars=number", "--kind", "plz=category"]
    assert run("fit", path, "--target", "y", "--model", "Ridge", *kinds, "-o", saved, "-q").exit_code == 0
    assert mercer.load(saved)[0].get_feature_names_out().tolist() == ["stars", "plz[00]", "plz[01]", "plz[02]"]
    assert run("predict", saved, path, "-q").exit_code == 0


def test_columns_of_text_are_fitted(run: Run, tmp_path: Path) -> None:
    rows = [f"{'win a prize now' if i % 3 else 'see you at home'} {i},{'spam' if i % 3 else 'ham'}" for i in range(60)]
    (path := tmp_path / "mails.csv").write_text("\n".join(["mail,label", *rows]))
    for name in ("MultinomialNB", "LogisticRegression"):
        assert run("fit", path, "--target", "label", "--model", name, "-o", tmp_path / "m", "-q").exit_code == 0
        lines = run("predict", tmp_path / "m", path, "-q").stdout.splitlines()[1:]
        assert [row.split(",")[0].strip('"') for row in lines] == [row.split(",")[1] for row in rows]


def test_names_are_completed() -> None:
    from mercer.cli._options import complete_model_name

    assert complete_model_name("lin") == [
        "LinearDiscriminantAnalysis",
        "LinearSVC",
        "LinearThreshold",
        "LinearRegression",
        "LinearSVR",
    ]


def test_the_first_run_on_a_machine_explains_the_compilation(
    run: Run, people: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first run is recognized by the empty cache of machine code."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(people.parent))
    fit = ("fit", people, "--target", "size", "--model", "NaiveBayes", "-o", people.with_suffix(".mercer"))
    assert "The first run compiles" in run(*fit).stderr
    assert "The first run compiles" not in run(*fit, "-q").stderr
    (people.parent / "loop.nbi").touch()
    assert "The first run compiles" not in run(*fit).stderr


@pytest.mark.parametrize("name", ["NaiveBayes", "LogisticRegression", "GaussianNB"])
def test_rows_read_piece_by_piece_give_the_same_model(run: Run, people: Path, tmp_path: Path, name: str) -> None:
    fit = ["fit", people, "--target", "size", "--model", name]
    fit += ["--set", "tol=1e-10"] * (name == "LogisticRegression")
    streamed, held = tmp_path / "streamed.mercer", tmp_path / "held.mercer"
    result = run(*fit, "--stream", "-o", streamed)
    assert result.exit_code == 0, result.output
    assert "read in pieces (because of --stream)" in result.stderr
    assert re.search(r"\d pass(es)? over", result.stderr)
    assert run(*fit, "--in-memory", "-o", held).exit_code == 0
    one, other = (run("predict", model, people, "-q").stdout.splitlines() for model in (streamed, held))
    for mine, theirs in zip(one[1:], other[1:], strict=True):
        assert [*map(float, mine.split(",")[1:])] == pytest.approx([*map(float, theirs.split(",")[1:])], abs=1e-7)


def test_a_file_larger_than_memory_is_streamed_with_a_note(
    run: Run, people: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mercer.cli._streaming.available_bytes", lambda: 100)
    result = run("fit", people, "--target", "size", "--model", "NaiveBayes", "-o", tmp_path / "m")
    assert result.exit_code == 0, result.output
    assert "too much for the" in result.stderr


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--scheduler", "tcp://127.0.0.1:9"], "add --engine dask"),
        (["--in-memory", "--skip-damaged"], "leave --in-memory out"),
        (["--stream", "--conformal", "0.9"], "need all rows in memory"),
        (["--stream", "--task", "counts"], "need all rows in memory"),
        (["--engine", "dask", "--scheduler", "tcp://127.0.0.1:9"], "tcp://127.0.0.1:9"),
    ],
)
def test_options_incompatible_with_streaming_are_rejected(
    run: Run, people: Path, tmp_path: Path, options: list[str], sentence: str
) -> None:
    result = run("fit", people, "--target", "size", "-o", tmp_path / "m", *options)
    assert result.exit_code != 0
    assert sentence in result.stderr
    assert not (tmp_path / "m").exists()


def test_a_checkpoint_is_removed_after_the_model_is_saved(run: Run, people: Path, tmp_path: Path) -> None:
    kept = ["--model", "NaiveBayes", "--checkpoint", tmp_path / "kept"]
    result = run("fit", people, "--target", "size", *kept, "-o", tmp_path / "m")
    assert result.exit_code == 0, result.output
    assert "because of --checkpoint" in result.stderr
    assert not (tmp_path / "kept").exists()
    assert (tmp_path / "m").exists()


def test_a_checkpoint_is_kept_until_the_model_is_saved(
    run: Run, people: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise WriteError("The disk is full.")

    fit = ["fit", people, "--target", "size", "--model", "NaiveBayes", "--checkpoint", tmp_path / "kept"]
    with monkeypatch.context() as patched:
        patched.setattr("mercer.files.save", full)
        assert run(*fit, "-o", tmp_path / "m").exit_code != 0
    assert list((tmp_path / "kept").glob("pass-*.mercer"))
    assert run(*fit, "-o", tmp_path / "m").exit_code == 0
    assert not (tmp_path / "kept").exists()


def test_files_matching_a_pattern_are_streamed(run: Run, people: Path, tmp_path: Path) -> None:
    pattern = people.with_name(f"{people.name[0]}??*{people.suffix}")
    result = run("fit", pattern, "--target", "size", "--model", "NaiveBayes", "-o", tmp_path / "m")
    assert result.exit_code == 0, result.output
    assert "read in pieces (as always for patterns)" in result.stderr
