"""Descriptors that can stand in for SIFT. A module is imported when it is used; some need an extra."""
