"""Classifiers that model p(x, y), learnt by counting: naive Bayes in all its forms, and what they share."""
