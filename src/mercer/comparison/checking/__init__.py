"""Assumptions checked, each with a stable code."""
