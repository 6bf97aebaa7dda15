"""Other methods: one file for each that has its own mathematics, and a registry of all (`registry`)."""
