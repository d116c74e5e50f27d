"""What is asked of every model: the task, the splits, the numbers, and whether a difference is real."""
