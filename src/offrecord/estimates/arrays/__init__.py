"""Estimators on arrays: numpy and scipy alone."""
