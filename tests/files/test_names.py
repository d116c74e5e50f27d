"""Every class that declares its fields has a tag, and every public estimator has a case."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
import subprocess
import sys
from enum import Enum
from typing import Any

import pytest
from sklearn.base import BaseEstimator

import mercer
from mercer import _tags as tags
from mercer import decision, density, families, kernels
from mercer._errors import DataError, ModelFileError
from mercer._stored import stored
from mercer.base import scikit_learn
from mercer.files._names import TYPES, class_named, constant_named, enum_named, name_of_class, name_of_type, type_named
from tests.files._cases import CASES
from tests.files._tags import classes_by_tag

#: why some public values are in no file
LEFT_OUT = {
    "FromFunction": "is a function",
    "HighestDensityRegion": "is an answer of a model, and no part of one",
}


def test_names_agree_with_their_classes() -> None:
    found = classes_by_tag()
    assert len(found) > 300
    assert {
        name: cls for name, cls in found.items() if name_of_class(cls) != name or class_named(name) is not cls
    } == {}


def test_the_index_of_the_sources_agrees_with_registrations() -> None:
    for module in pkgutil.walk_packages(mercer.__path__, "mercer."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    modules = tags.indexed_modules()
    registered = {tag: cls.__module__ for tag, cls in tags._CLASSES.items() if cls.__module__.startswith("mercer.")}
    assert {tag: module for tag, module in modules.items() if tag not in tags._CONSTANTS} == registered
    assert set(tags._CONSTANTS) == modules.keys() - registered.keys() == {"NEGATIVE_INVERSE", "SOFTMAX"}


def test_enumerations_types_and_constants_have_names() -> None:
    assert name_of_class(mercer.data.Kind) == "Kind"
    assert enum_named("Kind") is mercer.data.Kind
    for module, names in TYPES.items():
        for name in names.split():
            assert name_of_type(type_named(f"{module}.{name}")) == f"{module}.{name}"
    for name in ("NEGATIVE_INVERSE", "SOFTMAX"):
        assert tags.constant_tag(constant_named(name)) == name


def test_classes_and_enumerations_have_separate_names() -> None:
    for find, name in ((class_named, "Kind"), (enum_named, "GaussianNB"), (class_named, "SOFTMAX")):
        with pytest.raises(ModelFileError, match="allowed in model files"):
            find(name)


def test_a_subclass_has_no_name_unless_it_declares_its_fields() -> None:
    class Own(mercer.Ridge):
        pass

    assert name_of_class(Own) is None
    assert name_of_class(stored()(Own)) == "tests.Own"
    assert class_named("tests.Own") is Own


def test_a_class_of_another_package_cannot_take_the_name_of_one_of_mercer() -> None:
    class GaussianNB(BaseEstimator):
        pass

    assert name_of_class(stored(tag="GaussianNB")(GaussianNB)) == "tests.GaussianNB"
    assert class_named("GaussianNB") is mercer.GaussianNB


def test_two_classes_with_one_tag_are_rejected() -> None:
    class First:
        pass

    class Second:
        pass

    stored(tag="Taken")(First)
    with pytest.raises(DataError, match=r"Two classes have the tag 'tests\.Taken'"):
        stored(tag="Taken")(Second)


def test_only_modules_of_mercer_are_imported_for_a_name() -> None:
    program = (
        "import sys\nfrom mercer._errors import ModelFileError\nfrom mercer.files._names import class_named\n"
        "before = set(sys.modules)\n"
        "for name in ('antigravity.fly', 'this', 'mercer.testing', 'sklearn.svm.SVC', 'tests.Own'):\n"
        "    try:\n        class_named(name)\n    except ModelFileError:\n        continue\n    sys.exit(name)\n"
        "sys.exit(str(set(sys.modules) - before) if set(sys.modules) - before else 0)"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")


def test_every_estimator_is_covered_by_these_tests() -> None:
    public = [getattr(mercer, name) for name in mercer.__all__]
    classes = {made for made in (*public, *map(decision.__dict__.get, decision.__all__)) if is_estimator(made)}
    assert {made.__name__ for made in classes if name_of_class(made) is None} == set()
    tried = {type(case.make()).__name__ for case in CASES}
    assert {made.__name__ for made in classes} - tried == set()


def is_estimator(made: Any) -> bool:
    return inspect.isclass(made) and issubclass(made, BaseEstimator)


@pytest.mark.parametrize("room", [families, kernels, density], ids=lambda room: room.__name__)
def test_every_public_value_has_a_name(room: Any) -> None:
    public = [getattr(room, name) for name in room.__all__]
    values = [made for made in public if inspect.isclass(made) and dataclasses.is_dataclass(made)]
    concrete = [made for made in values if not inspect.isabstract(made)]
    assert {made.__name__ for made in concrete if name_of_class(made) is None} - set(LEFT_OUT) == set()


def test_classes_of_scikit_learn_are_named_by_their_public_paths() -> None:
    for path in scikit_learn.STORED_FIELDS:
        cls = scikit_learn.class_at(path)
        assert cls is not None
        assert scikit_learn.public_path(cls) == path
        assert not issubclass(cls, Enum)
