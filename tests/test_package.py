"""The public face: exactly the exported names, loaded on demand."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

import mercer


def run_python(code: str) -> str:
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return finished.stdout.strip()


@pytest.mark.parametrize("name", mercer.__all__)
def test_every_exported_name_exists(name: str) -> None:
    assert getattr(mercer, name) is not None


def test_public_names_are_exactly_the_exported_ones() -> None:
    assert len(set(mercer.__all__)) == len(mercer.__all__)  # the linter keeps them in order
    assert set(dir(mercer)) == {*mercer.__all__, "__version__"}


def test_packages_name_what_they_import_lazily() -> None:
    for file in sorted(Path(mercer.__file__).parent.rglob("__init__.py")):
        if "_MODULES = {" in file.read_text(encoding="utf-8"):
            package = import_module(".".join(("mercer", *file.relative_to(Path(mercer.__file__).parent).parts[:-1])))
            homes = [name for names in package._MODULES.values() for name in names]
            assert sorted([*homes, *getattr(package, "_PACKAGES", ())]) == sorted(package.__all__)
            assert all(getattr(package, name) is not None for name in package.__all__)


def test_an_unknown_name_is_an_attribute_error_with_a_hint() -> None:
    with pytest.raises(AttributeError, match=r"'GaussianBN'.*dir\(mercer\)"):
        _ = mercer.GaussianBN


def test_version_is_the_installed_one() -> None:
    try:
        assert version("mercer") == mercer.__version__
    except PackageNotFoundError:
        pytest.skip("mercer is run from its sources, not installed")


def test_importing_mercer_imports_nothing_else() -> None:
    heavy = "[m for m in ('numpy', 'scipy', 'sklearn', 'numba', 'pandas', 'polars', 'pyarrow') if m in sys.modules]"
    assert run_python(f"import mercer, sys; print({heavy})") == "[]"


def test_models_import_neither_compiler_nor_frames() -> None:
    """scikit-learn itself loads pandas where it is installed; what counts is what comes on top."""
    heavy = "{m for m in ('numba', 'pandas', 'polars', 'pyarrow', 'matplotlib', 'torch') if m in sys.modules}"
    code = f"import sklearn.naive_bayes, sys; old = {heavy}; from mercer import GaussianNB; print({heavy} - old)"
    assert run_python(code) == "set()"


def test_the_package_is_typed() -> None:
    assert (Path(mercer.__file__).parent / "py.typed").exists()
