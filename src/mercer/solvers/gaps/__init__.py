"""Normal groups whose rows have gaps: EM."""
