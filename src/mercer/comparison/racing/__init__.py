"""The race itself: folds, time, order, and the fit on all rows."""
