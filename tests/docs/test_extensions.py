"""The extensions of Sphinx: formulas, links, sections of docstrings, and the sidebar."""

from __future__ import annotations

import importlib.util
from types import ModuleType

import pytest

from tests.docs._pages import REPOSITORY

nodes = pytest.importorskip("docutils.nodes", reason="the site needs the extra docs")
errors = pytest.importorskip("sphinx.errors", reason="the site needs the extra docs")
DOCS = REPOSITORY / "docs"


def extension(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, DOCS / "_extensions" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_formula_becomes_mathml() -> None:
    shown = extension("mathml").converted(nodes.math("", r"\frac{1}{N}"), as_block=False)
    assert shown.startswith("<math")
    assert "<mfrac>" in shown


def test_the_bars_of_a_norm_are_of_one_height() -> None:
    shown = extension("mathml").converted(nodes.math("", r"\|w\|^2"), as_block=False)
    assert shown.count('<mo stretchy="false">‖</mo>') == 2


def test_a_formula_that_cannot_be_converted_is_named() -> None:
    with pytest.raises(errors.ExtensionError, match=r"'\\\\nonsense x'.*simpler LaTeX"):
        extension("mathml").converted(nodes.math("", r"\nonsense x"), as_block=False)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("../../bench/RESULTS.md", "../project/speed.md"),
        ("../../CONTRIBUTING.md#style", "../project/contributing.md#style"),
        ("../decisions/", "../decisions/index.md"),
        ("../gallery/", "../generated/gallery/index.rst"),
        ("../gallery/merge_and_forget.py", "../generated/gallery/merge_and_forget.rst"),
        ("data.md#sources", "data.md#sources"),
        ("https://semver.org", "https://semver.org"),
    ],
)
def test_a_link_of_a_page_points_to_the_file_on_the_site(written: str, read: str) -> None:
    page = DOCS / "packages" / "base.md"
    assert extension("page_links").relinked(f"see [it]({written}).", page, page) == f"see [it]({read})."


def test_links_of_an_included_file_are_resolved_for_its_page() -> None:
    links = extension("page_links")
    shown = links.relinked(
        "[a](docs/packages/data.md) ![b](bench/x.svg)", REPOSITORY / "CHANGELOG.md", DOCS / "project/changes.md"
    )
    assert shown == "[a](../packages/data.md) ![b](bench/x.svg)"  # what is not there stays as it is


def test_a_link_to_a_folder_without_a_page_becomes_text() -> None:
    page = DOCS / "quick-start.md"
    shown = extension("page_links").relinked("in [the tests](../tests/docs/), [packages](packages/)", page, page)
    assert shown == "in the tests, [packages](packages/index.md)"


def test_sections_of_a_docstring_keep_names_unchanged() -> None:
    lines = [
        "Sums.",
        "",
        "Attributes",
        "----------",
        "coef_, intercept_ : arrays of shape (n_features_in_,)",
        "    Weights.",
        "x : int",
    ]
    extension("numpydoc_sections").on_docstring(None, "class", "Sums", None, None, lines)
    assert lines == [
        *["Sums.", "", "", ".. rubric:: Attributes", ""],
        *["``coef_``, ``intercept_`` : arrays of shape (``n_features_in_``,)", "    Weights."],
        *["``x`` : int", "    \\ ", ""],
    ]


def test_the_sidebar_of_a_folder_is_shared_except_for_the_current_page() -> None:
    sidebar = extension("shared_sidebar")
    first, second = '<a class="current" href="#">a</a>', '<a href="b.html">b</a>'
    of_first = f'<ul class="current"><li class="l1 current">{first}</li><li class="l1">{second}</li></ul>'
    plain = sidebar.without_way(of_first, "a.html")
    assert "current" not in plain
    assert sidebar.with_way(plain, "a.html") == of_first
    assert '<li class="l1 current"><a class="current" href="#">b</a>' in sidebar.with_way(plain, "b.html")
