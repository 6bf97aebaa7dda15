"""Opponents: a file for each method that is new mathematics, and one registry of all (`registry`)."""
