"""How rows are parted, which of them are equal, and whether a difference between scores is real."""
