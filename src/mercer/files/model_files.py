"""Model files without code: `save`, `load`, and `describe`, which reads a file without building the model.

`_container` reads and writes the layout of a file and verifies its checksums, `_encode` and `_decode` convert
objects, `_names` finds the allowed classes, and `_declarations` verifies their parts.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from mercer._atomic import write_atomically
from mercer._errors import DataError, MercerError, ModelFileError
from mercer.files._container import (
    FORMAT,
    VERSION,
    Header,
    opened,
    read_arrays,
    read_header,
    read_json,
    writer,
    written,
)
from mercer.files._decode import Decoder, damaged
from mercer.files._encode import Encoder
from mercer.files.model_card import ModelCard

#: errors that an invalid description may cause
DECODING_ERRORS = (
    ArithmeticError,
    AttributeError,
    DataError,
    LookupError,
    NotImplementedError,
    RecursionError,
    TypeError,
    ValueError,
)
#: maximum number of columns or classes that are listed in a description
MAX_LISTED = 10_000
#: cards of models in memory, which are removed with their models
_CARDS: WeakKeyDictionary[Any, ModelCard] = WeakKeyDictionary()


class ModelFile(NamedTuple):
    """The description of a model file."""

    #: class of the model
    model: str
    #: classes of the steps of a pipeline
    steps: tuple[str, ...]
    #: names of the columns of the fit; None if they had no names
    columns: tuple[str, ...] | None
    #: number of columns of the fit
    n_columns: int | None
    #: classes of a classifier as text
    classes: tuple[str, ...] | None
    #: version of the format
    version: int
    #: version of mercer that wrote the file
    mercer: str
    #: bytes of the file; 0 for a model in memory
    size: int
    #: arrays of the file; 0 for a model in memory
    n_arrays: int
    #: the model card; None if no card was saved
    card: ModelCard | None = None


def save(model: Any, path: str | Path, *, card: ModelCard | None = None) -> None:
    """Write a model to a file that contains no code.

    The file is complete or, if anything fails, as it was before. Its format is documented and has a version, which
    newer versions of mercer continue to read.

    Parameters
    ----------
    model : estimator
        A fitted or unfitted estimator of mercer, or a combination of these by scikit-learn's Pipeline, FeatureUnion or
        ColumnTransformer. A `Schema`, a kernel or a family is also possible. For a `Comparison`, the recommended model
        is written with its card.
    path : str or Path
        The file, by convention with the suffix `.mercer`.
    card : ModelCard, default=None
        The data of the fit, scores and limits of the model; `describe` returns it.

    Raises
    ------
    UnsavableError
        If the model contains a function, or an object of another library. The message names it.
    WriteError
        If the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from mercer import GaussianNB, load, save
    >>> model = GaussianNB().fit([[1.0], [2.0], [8.0], [9.0]], ["low", "low", "high", "high"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, f"{folder}/model.mercer")
    ...     again = load(f"{folder}/model.mercer")
    >>> again.predict([[7.5]])
    array(['high'], dtype='<U4')
    """
    from mercer import __version__

    if hasattr(model, "model_and_card"):
        model, card = model.model_and_card()
    encoder = Encoder()
    described = {"model": encoder.value(model), "objects": encoder.objects}
    metadata = {
        "format": FORMAT,
        "version": str(VERSION),
        "mercer": __version__,
        "about": json.dumps(_about(model)),
        "model": json.dumps(described, separators=(",", ":"), allow_nan=False),
    }
    if card is not None:
        metadata["card"] = json.dumps(_finite(card.to_dict()), separators=(",", ":"), allow_nan=False)
    write_atomically(path, written(metadata, encoder.arrays))


def load(path: str | Path) -> Any:
    """Read a model that `save` wrote, without running any code from the file.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    model : estimator
        A model with the same predictions as the saved one.

    Raises
    ------
    ModelFileError
        If the file is not a model file, or is damaged, cut off, tampered with, or of a newer version.

    Examples
    --------
    >>> import tempfile
    >>> from mercer import Ridge, load, save
    >>> line = Ridge(alpha=0).fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(line, f"{folder}/line.mercer")
    ...     load(f"{folder}/line.mercer").predict([[3.0]]).round(6)
    array([7.])
    """
    with opened(path) as file:
        try:
            header = read_header(file)
            model = _build(header, read_arrays(file, header))
            if (card := _card(header)) is not None:
                attach_card(model, card)
            return model
        except ModelFileError as error:
            raise type(error)(f"{str(path)!r}: {error}") from error.__cause__


def _build(header: Header, arrays: dict[str, Any]) -> Any:
    from mercer import __version__

    try:
        return Decoder(arrays, len(header.metadata["model"])).build(read_json(header.metadata["model"]))
    except DECODING_ERRORS as error:
        is_explained = isinstance(error, ModelFileError)
        message = str(error if is_explained else damaged("its description is inconsistent"))
        if (by := writer(header.metadata)) != __version__:  # which may have more classes and parts
            message += f" It was written by mercer {by}, and this is {__version__}; the newer version may read it."
        raise ModelFileError(message) from (error.__cause__ if is_explained else error)


def attach_card(model: Any, card: ModelCard) -> None:
    """Store the card of a model in memory for `card_of`, without changing the model."""
    with suppress(TypeError):  # objects without hash or weak references, such as tuples and dicts
        _CARDS[model] = card


def card_of(model: Any) -> ModelCard | None:
    """Return the card of a model that was loaded from a file with a card, or fitted by a comparison, or None."""
    try:
        return _CARDS.get(model)
    except TypeError:
        return None


def describe(model: Any) -> ModelFile:
    """Return the description of a model file, without building the model or reading its arrays.

    Parameters
    ----------
    model : str, Path or estimator
        A file, whose checksum is verified by `load`, not here; or a model in memory.

    Returns
    -------
    found : ModelFile
        The description; its `card` is the model card, if one was saved.

    Examples
    --------
    >>> import tempfile
    >>> from mercer import Ridge, describe, save
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(Ridge().fit([[0.0], [1.0]], [1.0, 3.0]), f"{folder}/line.mercer")
    ...     found = describe(f"{folder}/line.mercer")
    >>> found.model, found.n_columns, found.n_arrays
    ('Ridge', 1, 1)
    """
    if not isinstance(model, str | Path):
        return _describe_in_memory(model)
    path = model
    with opened(path) as file:
        try:
            header = read_header(file)
            return _make_description(read_json(header.metadata["about"]), header)
        except ModelFileError as error:
            raise type(error)(f"{str(path)!r}: {error}") from error.__cause__
        except DECODING_ERRORS as error:
            raise ModelFileError(f"{str(path)!r}: {damaged('its description is inconsistent')}") from error


def fingerprint(thing: Any) -> str:
    """Return a digest that is the same for two objects if and only if `save` writes them identically."""
    encoder = Encoder()
    described = json.dumps([encoder.value(thing), encoder.objects], sort_keys=True)
    total = hashlib.sha256(described.encode())
    for array in encoder.arrays.values():
        total.update(f"{array.dtype}{array.shape}".encode())
        total.update(np.ascontiguousarray(array).data)
    return total.hexdigest()


def _about(model: Any) -> dict[str, Any]:
    """Return the description that can be read without loading the model."""
    names, classes = (_listed(model, name) for name in ("feature_names_in_", "classes_"))
    steps = [type(step).__name__ for _, step in getattr(model, "steps", ())]
    return {
        "class": type(model).__name__,
        "steps": steps,
        "columns": names,
        "n_columns": _count(model),
        "classes": classes,
    }


def _listed(model: Any, name: str) -> list[str] | None:
    try:
        values = getattr(model, name)
    except (MercerError, AttributeError, IndexError, ValueError):
        return None
    return [str(value) for value in values] if hasattr(values, "__len__") and len(values) <= MAX_LISTED else None


def _count(model: Any) -> int | None:
    try:
        return int(model.n_features_in_)
    except (MercerError, AttributeError, IndexError, TypeError, ValueError):
        return None


def _make_description(about: dict[str, Any], header: Header) -> ModelFile:
    columns, classes = (
        None if about[name] is None else tuple(map(str, about[name])) for name in ("columns", "classes")
    )
    return ModelFile(
        model=str(about["class"]),
        steps=tuple(map(str, about["steps"])),
        columns=columns,
        n_columns=None if about["n_columns"] is None else int(about["n_columns"]),
        classes=classes,
        version=int(header.metadata["version"]),
        mercer=header.metadata["mercer"],
        size=header.size,
        n_arrays=len(header.arrays),
        card=_card(header),
    )


def _describe_in_memory(model: Any) -> ModelFile:
    from mercer import __version__

    card = card_of(model)
    if hasattr(model, "model_and_card"):
        model, card = model.model_and_card()
    header = Header({"version": str(VERSION), "mercer": __version__}, {}, b"", 0)
    return _make_description(_about(model), header)._replace(card=card)


def _card(header: Header) -> ModelCard | None:
    if "card" not in header.metadata:
        return None
    try:
        return ModelCard.from_dict(read_json(header.metadata["card"]))
    except DECODING_ERRORS as error:
        raise damaged("its model card is inconsistent") from error


def _finite(value: Any) -> Any:
    """Return a value in which None replaces NaN and infinities, which JSON does not have."""
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value
