"""Models in files that hold no code: `save`, `load`, and `describe`, which reads a file without building the model."""

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

#: what a description of nonsense may raise in those who read it
NONSENSE = (
    ArithmeticError,
    AttributeError,
    DataError,
    LookupError,
    NotImplementedError,
    RecursionError,
    TypeError,
    ValueError,
)
#: columns that are named in a description
MOST_COLUMNS = 10_000
#: cards of models in memory; they do not change what a model is, and go when it goes
_CARDS: WeakKeyDictionary[Any, ModelCard] = WeakKeyDictionary()


class ModelFile(NamedTuple):
    """What a model file says about itself."""

    #: the class of the model, and for a pipeline those of its steps
    model: str
    steps: tuple[str, ...]
    #: names of the columns it was fitted on, where they had any, and how many there are
    columns: tuple[str, ...] | None
    n_columns: int | None
    #: what a classifier tells apart, as text
    classes: tuple[str, ...] | None
    #: version of the format, and of mercer when it was written
    version: int
    mercer: str
    #: bytes and arrays of the file; 0 of a model in memory
    size: int
    n_arrays: int
    #: what the model was fitted to, how good it is, and its limits; None where no card was saved
    card: ModelCard | None = None


def save(model: Any, path: str | Path, *, card: ModelCard | None = None) -> None:
    """Write a model to a file that holds no code.

    The file is whole or, if anything fails, as it was before. Its format is documented and has a version: newer
    versions of mercer keep reading it.

    Parameters
    ----------
    model : estimator
        One of mercer, or a pipeline of these with scikit-learn's Pipeline, FeatureUnion or ColumnTransformer; fitted or
        not. A `Schema`, a kernel, a family do as well. Of a `Comparison`, the recommended model is written with its
        card.
    path : str or Path
        Where; by custom it ends in `.mercer`.
    card : ModelCard, default=None
        What the model was fitted to, how good it is and where its limits are; `describe` returns it.

    Raises
    ------
    UnsavableError
        Where the model holds a function, or an object of another library. The message names the place.
    WriteError
        Where the file cannot be written.

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
    """Read a model that `save` wrote. No code of the file is run, for there is none.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    model : estimator
        It predicts as the one that was saved.

    Raises
    ------
    ModelFileError
        Where it is not a model file, or one that is damaged, cut off, tampered with, or of a newer version.

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
            model = _built(header, read_arrays(file, header))
            if (card := _card(header)) is not None:
                attach_card(model, card)
            return model
        except ModelFileError as error:
            raise type(error)(f"{str(path)!r}: {error}") from error.__cause__


def _built(header: Header, arrays: dict[str, Any]) -> Any:
    from mercer import __version__

    try:
        return Decoder(arrays, len(header.metadata["model"])).build(read_json(header.metadata["model"]))
    except NONSENSE as error:
        known = isinstance(error, ModelFileError)
        told = str(error if known else damaged("its description does not fit together"))
        if (by := writer(header.metadata)) != __version__:  # which may have more classes and parts than this one
            told += f" It was written by mercer {by}, and this is {__version__}; the newer of them may read it."
        raise ModelFileError(told) from (error.__cause__ if known else error)


def attach_card(model: Any, card: ModelCard) -> None:
    """Let `card_of` find the card of a model in memory; the model itself is not changed."""
    with suppress(TypeError):  # what cannot be hashed or referred to weakly: a tuple, a dict
        _CARDS[model] = card


def card_of(model: Any) -> ModelCard | None:
    """The card of a model that was loaded from a file with one, or that a comparison has fitted; else None."""
    try:
        return _CARDS.get(model)
    except TypeError:
        return None


def describe(model: Any) -> ModelFile:
    """Return what a model file says about itself, without building the model or reading its arrays.

    Parameters
    ----------
    model : str, Path or estimator
        The file, whose checksum is verified by `load`, not here; or a model in memory.

    Returns
    -------
    found : ModelFile
        Its `card` is the model card, where one was saved.

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
        return _described_in_memory(model)
    path = model
    with opened(path) as file:
        try:
            header = read_header(file)
            return _described(read_json(header.metadata["about"]), header)
        except ModelFileError as error:
            raise type(error)(f"{str(path)!r}: {error}") from error.__cause__
        except NONSENSE as error:
            raise ModelFileError(f"{str(path)!r}: {damaged('it does not say what it holds')}") from error


def fingerprint(thing: Any) -> str:
    """The same text for two things that `save` would write alike, and another for others."""
    encoder = Encoder()
    described = json.dumps([encoder.value(thing), encoder.objects], sort_keys=True)
    total = hashlib.sha256(described.encode())
    for array in encoder.arrays.values():
        total.update(f"{array.dtype}{array.shape}".encode())
        total.update(np.ascontiguousarray(array).data)
    return total.hexdigest()


def _about(model: Any) -> dict[str, Any]:
    """What may be asked of a file before it is loaded."""
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
    return [str(value) for value in values] if hasattr(values, "__len__") and len(values) <= MOST_COLUMNS else None


def _count(model: Any) -> int | None:
    try:
        return int(model.n_features_in_)
    except (MercerError, AttributeError, IndexError, TypeError, ValueError):
        return None


def _described(about: dict[str, Any], header: Header) -> ModelFile:
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


def _described_in_memory(model: Any) -> ModelFile:
    from mercer import __version__

    card = card_of(model)
    if hasattr(model, "model_and_card"):
        model, card = model.model_and_card()
    header = Header({"version": str(VERSION), "mercer": __version__}, {}, b"", 0)
    return _described(_about(model), header)._replace(card=card)


def _card(header: Header) -> ModelCard | None:
    if "card" not in header.metadata:
        return None
    try:
        return ModelCard.from_dict(read_json(header.metadata["card"]))
    except NONSENSE as error:
        raise damaged("its model card does not fit together") from error


def _finite(value: Any) -> Any:
    """The same without numbers that JSON does not have."""
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value
