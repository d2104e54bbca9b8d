"""Estimators on frames: grouped, numbered, handed on as arrays."""
