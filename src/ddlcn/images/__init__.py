"""Placeholder, replaced as the flow is built."""
