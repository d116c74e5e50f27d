"""Answers by the rows around a point, weighted by a kernel: Nadaraya–Watson and local lines."""
