"""Estimators of a density: histograms and Parzen windows."""
