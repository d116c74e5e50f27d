"""Features of text: counts, hashes and TF-IDF weights of terms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mercer._lazy import lazy_names

if TYPE_CHECKING:
    from mercer.text._count import CountVectorizer
    from mercer.text._hashing import HashingVectorizer
    from mercer.text._tfidf import TfidfTransformer, TfidfVectorizer

_MODULES = {
    "_count": ["CountVectorizer"],
    "_hashing": ["HashingVectorizer"],
    "_tfidf": ["TfidfTransformer", "TfidfVectorizer"],
}
__all__ = ["CountVectorizer", "HashingVectorizer", "TfidfTransformer", "TfidfVectorizer"]
__getattr__, __dir__ = lazy_names(__name__, _MODULES)
