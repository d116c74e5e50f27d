"""Files as sources: one module for each format, `finding` for which files are meant, `stamps` for what they were."""
