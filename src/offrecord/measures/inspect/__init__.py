"""Measures as Inspect knows them: scorers, and how View shows them."""
