"""Loops that `features.text` calls: from the bytes of documents to counts of terms."""
