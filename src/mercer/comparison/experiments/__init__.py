"""Learning curves of a pair, and models under strain."""
