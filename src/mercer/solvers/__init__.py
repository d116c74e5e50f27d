"""From a problem to a `Solution`: the answer, a certificate that it is one, and the way there."""
