"""The softmax of a linear function that a generative model is, and its features for other models."""
