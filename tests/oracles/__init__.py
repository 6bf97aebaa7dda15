"""Slow, obvious NumPy truths, one a formula, written apart from the code that they judge."""
