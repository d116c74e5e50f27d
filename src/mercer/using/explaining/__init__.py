"""What a model says about a row, about itself, and which rows are odd."""
