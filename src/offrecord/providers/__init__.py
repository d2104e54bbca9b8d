"""Models of our own: the embedded engine and the simulated population."""
