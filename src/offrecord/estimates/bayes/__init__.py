"""The hierarchical model; it needs the extra `bayes`."""
