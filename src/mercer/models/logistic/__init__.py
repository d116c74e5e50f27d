"""Logistic regression and the choice of its penalty by cross-validation."""
