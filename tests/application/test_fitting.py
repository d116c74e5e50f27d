"""One model is fitted to a table with columns of any kind."""

from __future__ import annotations

import pyarrow as pa
import pytest

import mercer.data
from mercer._errors import ColumnTypeError, DataError
from mercer.application.fitting import fit_model, fit_to_source

FRAME = pa.table({"x": [i % 9 / 2 for i in range(60)], "c": ["u", "v", "w"] * 20})
CLASSES = ["a" if i % 9 < 4 else "b" for i in range(60)]


def test_the_notes_include_the_certificate() -> None:
    found = fit_model("LogisticRegression", FRAME, CLASSES)
    assert (found.model.predict(FRAME) == CLASSES).mean() > 0.9
    assert found.notes[-1].startswith("Certificate: ")


def test_numbers_taken_for_classes_are_noted() -> None:
    rings = [i % 35 for i in range(60)]
    assert any(
        "35 numbers, each of which is a class to NaiveBayes" in note
        for note in fit_model("NaiveBayes", FRAME, rings).notes
    )
    assert not any("is a class to" in note for note in fit_model("NaiveBayes", FRAME, [i % 2 for i in range(60)]).notes)


@pytest.mark.parametrize(("unit", "what"), [(pa.time64("us"), "times of day"), (pa.duration("s"), "durations")])
@pytest.mark.parametrize("name", ["LogisticRegression", "NaiveBayes"])
def test_times_that_model_files_cannot_store_are_rejected(name: str, unit: pa.DataType, what: str) -> None:
    frame = FRAME.append_column("dep", pa.array(range(60), pa.int64()).cast(unit))
    with pytest.raises(ColumnTypeError, match=rf"Column 'dep' holds {what} .* --drop dep\)"):
        fit_model(name, frame, CLASSES)
    with pytest.raises(ColumnTypeError, match=rf"Column 'dep' holds {what} .* --drop dep\)"):
        fit_to_source(name, mercer.data.open(frame.append_column("y", [CLASSES]), target="y"))


def test_calibrated_and_conformal_models_are_fitted() -> None:
    found = fit_model("LogisticRegression", FRAME, CLASSES, calibrate="platt", conformal=0.8)
    assert found.model.predict_set(FRAME).shape == (60, 2)
    again = fit_model("LogisticRegression", FRAME, CLASSES, calibrate="platt", conformal=0.8)
    assert (found.model.predict_proba(FRAME) == again.model.predict_proba(FRAME)).all()


@pytest.mark.parametrize(
    ("name", "y", "options", "sentence"),
    [
        ("Ridge", CLASSES, {}, "Ridge predicts numbers, but the target holds names such as .a."),
        ("Ridge", [1.0] * 60, {}, "nothing to learn"),
        ("NaiveBayes", ["a"] * 60, {}, "Every row has the label 'a'"),
        ("Ridge", [i / 3 for i in range(60)], {"calibrate": "platt"}, "leave out --calibrate"),
        ("NaiveBayes", CLASSES, {"conformal": 1.0}, "between 0 and 1"),
    ],
)
def test_unusable_targets_are_rejected(name: str, y: list[object], options: dict[str, object], sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        fit_model(name, FRAME, y, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["NaiveBayes", "GaussianNB", "BernoulliNB"])
def test_a_target_of_one_class_is_rejected_in_memory_and_from_a_source(name: str) -> None:
    sentence = "Every row has the label 'a'; to fit a classifier takes at least two classes"
    with pytest.raises(DataError, match=sentence):
        fit_model(name, FRAME, ["a"] * 60)
    with pytest.raises(DataError, match=sentence):
        fit_to_source(name, mercer.data.open(FRAME.append_column("y", [["a"] * 60]), target="y", rows=20))
