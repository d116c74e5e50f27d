"""Features that stand for a kernel: Nyström and random Fourier features."""
