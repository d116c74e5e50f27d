"""Support vector machines: their duals, linear or in the span of the rows, and probabilities from margins."""
