"""Pure functions on arrays: numpy and scipy alone."""
