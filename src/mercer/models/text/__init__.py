"""Estimators that make a matrix of documents."""
