"""Generalised linear models: `GLM`, and regressors with the parameters of scikit-learn's."""
