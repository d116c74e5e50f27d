"""Linear threshold units: the four learning rules, batch and incremental."""
