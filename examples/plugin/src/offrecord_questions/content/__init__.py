"""Content that offrecord finds: scenarios."""
