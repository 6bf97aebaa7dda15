"""Compiled loops of other methods: arrays in, arrays out."""
