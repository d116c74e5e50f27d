"""How rows are parted, which of them are equal, how scores rank them, and whether a difference is real."""
