"""A measure and a scenario for offrecord."""
