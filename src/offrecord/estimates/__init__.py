"""Rates, standard errors and the split: no text, only values and ids."""
