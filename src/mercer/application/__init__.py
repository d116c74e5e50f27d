"""Prepare a model for a table, fit it, and predict with it; nothing here is printed."""
