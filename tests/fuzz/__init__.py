"""Hostile input for everything that reads files of strangers.

`python -m tests.fuzz image --minutes 10` fuzzes one reader, with atheris if it is installed. The tests beside
this run a fixed corpus and a short seeded fuzz of the same readers.
"""
