"""Loops that `models` calls: scores of classes, and posteriors."""
