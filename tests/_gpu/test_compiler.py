"""If Triton does not work, torch is used instead, with one warning that contains the reason."""

from __future__ import annotations

import sys
import warnings
from types import ModuleType

import pytest

from mercer._errors import MercerWarning
from mercer._gpu.compiler import compiles

pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def forget():
    compiles.cache_clear()
    yield
    compiles.cache_clear()


def test_a_missing_compiler_gives_one_warning(monkeypatch):
    def works(device):
        raise RuntimeError("Failed to find C compiler.\nmore")

    probe = ModuleType("mercer._gpu.triton_probe")
    probe.works = works
    monkeypatch.setitem(sys.modules, "mercer._gpu.triton_probe", probe)
    with pytest.warns(MercerWarning, match=r"on cuda:0 \(Failed to find C compiler\.\), so that torch.*gcc"):
        assert not compiles("cuda:0")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not compiles("cuda:0")


def test_a_missing_triton_gives_no_warning(monkeypatch):
    monkeypatch.delitem(sys.modules, "mercer._gpu.triton_probe", raising=False)
    monkeypatch.setitem(sys.modules, "triton", None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not compiles("cuda:0")
