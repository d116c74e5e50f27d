"""Least squares in closed form, of rows in memory, encoded, on a card or of a source."""
