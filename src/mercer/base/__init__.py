"""What all estimators share, and what is declared about classes of scikit-learn around them."""
