"""Models that learn row after row: the four learning rules of lecture 2, and scikit-learn's perceptron."""
