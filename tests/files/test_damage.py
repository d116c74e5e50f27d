"""Damaged, truncated, foreign and forged files raise one kind of error, and run no code."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mercer import CountVectorizer, GaussianNB, NaiveBayes, TableFeatures, load
from mercer._errors import MissingModelFileError, ModelFileError, NewerModelFileError
from mercer.files import describe
from mercer.files._decode import _TAGS
from tests.files._cases import mixed, numbers, words
from tests.files._forged import forged, octets_of, read, record_of, signed, taken_apart, with_array


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return the bytes of a file with numbers, strings and objects."""
    return octets_of(NaiveBayes().fit(mixed().X, mixed().y), tmp_path_factory.mktemp("whole"))


cases = settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])


@cases
@given(position=st.integers(0, 10**9), flip=st.integers(1, 255))
def test_a_changed_byte_is_found(position: int, flip: int, whole: bytes, tmp_path: Path) -> None:
    changed = bytearray(whole)
    changed[position % len(whole)] ^= flip
    with pytest.raises(ModelFileError):
        read(bytes(changed), tmp_path)


@cases
@given(length=st.integers(0, 10**9), tail=st.binary(max_size=3))
def test_a_file_that_is_cut_off_or_longer_is_found(length: int, tail: bytes, whole: bytes, tmp_path: Path) -> None:
    changed = whole[: length % (len(whole) + 1)] + tail
    if changed != whole:
        with pytest.raises(ModelFileError):
            read(changed, tmp_path)


@cases
@given(octets=st.binary(max_size=200))
def test_random_bytes_are_rejected(octets: bytes, tmp_path: Path) -> None:
    with pytest.raises(ModelFileError):
        read(octets, tmp_path)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
TAGS = [*_TAGS, "nonsense"]


@cases
@given(
    tag=st.sampled_from(TAGS),
    value=json_values,
    more=st.dictionaries(st.sampled_from(["shape", "dtype", "bytes", "data", "indices", "indptr"]), json_values),
)
def test_random_changes_with_a_valid_checksum_are_rejected_or_give_a_value(
    tag: str, value: Any, more: Any, whole: bytes, tmp_path: Path
) -> None:
    def change(described: Any) -> None:
        described["model"] = {tag: value, **more}

    with contextlib.suppress(ModelFileError):
        read(forged(whole, change), tmp_path)


@cases
@given(data=st.data())
def test_parts_replaced_at_random_are_rejected_or_loaded(data: st.DataObject, whole: bytes, tmp_path: Path) -> None:
    def change(described: Any) -> None:
        record = data.draw(st.sampled_from([each for each in described["objects"] if each.get("state")]))
        part = data.draw(st.sampled_from(sorted(record["state"])))
        record["state"][part] = data.draw(json_values)

    with contextlib.suppress(ModelFileError):
        read(forged(whole, change), tmp_path)


@pytest.mark.parametrize(
    "name",
    [
        "os.system",
        "builtins.eval",
        "builtins.exec",
        "subprocess.Popen",
        "sklearn.linear_model._logistic.LogisticRegression",
        "sklearn.externals.joblib.memory.Memory",
        "mercer.files._decode.Decoder",
        "mercer.files._decode",
        "GaussianNB.__init__",
        "mercer.GaussianNB",
        "mercer.naive_bayes.GaussianNB",
        "DiscriminantClassifier",
        "",
        ".",
        None,
        7,
        ["os", "system"],
    ],
)
@pytest.mark.parametrize("kind", ["class", "type", "constant", "enum"])
def test_a_name_that_is_not_declared_is_rejected(name: Any, kind: str, whole: bytes, tmp_path: Path) -> None:
    def change(described: Any) -> None:
        if kind == "class":
            described["objects"][-1]["class"] = name
        else:
            described["model"] = {kind: [name, 1] if kind == "enum" else name}

    with pytest.raises(ModelFileError, match=r"not a (class|type|constant|enum) allowed in model files"):
        read(forged(whole, change), tmp_path)


@pytest.mark.parametrize(
    "name",
    [
        "__class__",
        "__dict__",
        "predict",
        "fit",
        "set_fit_request",
        "_get_param_names",
        "_repr_html_",
        "_doc_link_module",
        "_parameter_constraints",
        "not a name",
        "",
    ],
)
def test_an_attribute_that_would_override_the_class_is_rejected(name: str, whole: bytes, tmp_path: Path) -> None:
    def change(described: Any) -> None:
        described["objects"][-1]["state"][name] = 1

    with pytest.raises(ModelFileError, match="has no attribute"):
        read(forged(whole, change), tmp_path)


def test_a_part_that_is_missing_is_named(whole: bytes, tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="a Plan in it lacks blocks"):
        read(forged(whole, lambda d: record_of(d, "Plan")["state"].pop("blocks")), tmp_path)


def test_a_parameter_that_is_newer_than_the_file_has_its_default(whole: bytes, tmp_path: Path) -> None:
    model = read(forged(whole, lambda d: d["objects"][-1]["state"].pop("smoothing")), tmp_path)
    assert model.smoothing == NaiveBayes().smoothing


def test_an_object_cannot_refer_to_itself_or_to_later_ones(whole: bytes, tmp_path: Path) -> None:
    for number in (len(taken_apart(whole)[1]["objects"]) - 1, 10**9, -1, True):
        with pytest.raises(ModelFileError, match="does not precede it"):
            read(forged(whole, lambda d, n=number: d["objects"][-1]["state"].update(families={"object": n})), tmp_path)


def test_a_formula_that_would_be_executed_is_rejected(tmp_path: Path) -> None:
    octets = octets_of(TableFeatures().fit(mixed().X), tmp_path)
    formula = "__import__('os').system('true')"
    with pytest.raises(ModelFileError, match=r"formula"):
        read(forged(octets, lambda d: d["objects"][-1]["state"].update(formula=formula)), tmp_path)


def test_indices_and_offsets_that_point_outside_are_rejected(tmp_path: Path) -> None:
    vectorizer = CountVectorizer().fit(words().X)
    offsets = vectorizer._all_terms.terms.offsets.copy()
    offsets[-1] += 10**6
    octets = with_array(octets_of([vectorizer], tmp_path), "Texts", "offsets", offsets)
    with pytest.raises(ModelFileError, match="Texts"):
        read(octets, tmp_path)


@pytest.mark.parametrize(
    "foreign",
    [
        pickle.dumps({"a": 1}),
        b"PK\x03\x04" + bytes(200),
        b"a,b\n1,2\n" * 30,
        b"",
        (10**9).to_bytes(8, "little") + b"{}",
        (2**63).to_bytes(8, "little") + b"{}",
        (2).to_bytes(8, "little") + b"{}",
        (15).to_bytes(8, "little") + b'{"a":1e999999} ',
    ],
)
def test_foreign_files_raise_an_error(foreign: bytes, tmp_path: Path) -> None:
    with pytest.raises(ModelFileError):
        read(foreign, tmp_path)


def test_a_foreign_file_of_safetensors_raises_an_error(tmp_path: Path) -> None:
    from safetensors.numpy import save_file

    save_file({"a": np.ones(3)}, tmp_path / "other.safetensors")
    with pytest.raises(ModelFileError, match="not one of mercer"):
        load(tmp_path / "other.safetensors")


def test_a_newer_version_is_reported(whole: bytes, tmp_path: Path) -> None:
    header, _, data = taken_apart(whole)
    header["__metadata__"] |= {"version": "2", "mercer": "9.9"}
    for ask in (load, describe):
        (tmp_path / "new.mercer").write_bytes(signed(header, data))
        with pytest.raises(NewerModelFileError, match=r"version 2 .*9\.9.*newer mercer"):
            ask(tmp_path / "new.mercer")


def test_a_class_of_a_newer_mercer_is_named_with_the_version(whole: bytes, tmp_path: Path) -> None:
    header, described, data = taken_apart(whole)
    described["objects"][-1]["class"] = "Newer"
    for version, shown in (("9.9", "mercer 9.9,"), ("\x1b[2J", "mercer of unknown version,")):
        header["__metadata__"] |= {"mercer": version, "model": json.dumps(described)}
        with pytest.raises(ModelFileError, match=shown) as caught:
            read(signed(header, data), tmp_path)
        assert str(caught.value).isprintable()


def test_a_missing_file_a_folder_and_a_pipe_give_clear_errors(tmp_path: Path) -> None:
    with pytest.raises(MissingModelFileError, match="no such file"):
        load(tmp_path / "none.mercer")
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "none.mercer")
    with pytest.raises(MissingModelFileError):
        load("a\0b")
    with pytest.raises(ModelFileError):
        load(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ModelFileError, match="not a file but"):
        load(tmp_path / "pipe")


def test_arrays_that_overlap_or_do_not_fill_the_file_are_rejected(tmp_path: Path) -> None:
    octets = octets_of(GaussianNB().fit(numbers().X, numbers().y), tmp_path)
    header, _, data = taken_apart(octets)
    first = next(name for name in header if name != "__metadata__")
    for change in (
        {"data_offsets": [0, 10**15]},
        {"shape": [10**15]},
        {"shape": [-1]},
        {"dtype": "F99"},
        {"shape": [2**61, 0]},
        {"shape": [1.0]},
        {"shape": [True]},
        {"shape": [1] * 33},
    ):
        broken = json.loads(json.dumps(header))
        broken[first] |= change
        with pytest.raises(ModelFileError):
            read(signed(broken, data), tmp_path)
    nothing = {"dtype": "F64", "shape": [2**61, 0], "data_offsets": [0, 0]}
    with pytest.raises(ModelFileError, match="impossible sizes"):
        read(signed({"__metadata__": header["__metadata__"], "nothing": nothing} | header, data), tmp_path)


def test_nothing_is_imported_for_a_name_in_a_file(
    whole: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.import_module", lambda name: pytest.fail(f"imported {name}"))
    with pytest.raises(ModelFileError):
        read(forged(whole, lambda d: d.update(objects=[{"class": "antigravity.fly", "state": {}}])), tmp_path)
