"""Classes with an order."""
