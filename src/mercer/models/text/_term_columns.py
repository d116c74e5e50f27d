"""The terms of a vectorizer: as columns, which were learnt, or as a dict, which was given or asked for."""

from __future__ import annotations

from typing import Any

from mercer.features.text.interpreted import AnyVocabulary


class TermColumns:
    """`vocabulary_` is a dict that is made of the columns when it is first looked at."""

    _numbers: dict[Any, int] | None

    @property
    def vocabulary_(self) -> dict[Any, int]:
        if vars(self).get("_numbers") is None:
            if self._columns is None:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute 'vocabulary_'; fit it first.")
            self._numbers = self._columns.as_dict()
        return self._numbers  # type: ignore[return-value]

    @vocabulary_.setter
    def vocabulary_(self, value: dict[Any, int]) -> None:
        self.__dict__.pop("_kept", None)
        self._numbers = value

    @vocabulary_.deleter
    def vocabulary_(self) -> None:
        for name in ("_kept", "_numbers"):
            self.__dict__.pop(name, None)

    @property
    def _columns(self) -> AnyVocabulary | None:
        """The terms that were learnt and are columns."""
        return vars(self).get("_kept")

    def __getstate__(self) -> dict[str, Any]:
        parent: Any = super()  # that of an estimator
        state: dict[str, Any] = dict(parent.__getstate__())
        if state.get("_kept") is not None:
            state.pop("_numbers", None)  # made of the columns again when it is asked for
        return state
