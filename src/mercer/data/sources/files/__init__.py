"""Files as sources: a module for each format, `finding` for the choice of files, `stamps` for their versions."""
