"""Loops that `designs` calls: products with rows of numbers, of stored entries, of codes and of features."""
