"""The protocol: who is asked what, in which order, and who hears the answer."""
