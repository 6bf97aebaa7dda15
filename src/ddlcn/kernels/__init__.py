"""Compiled loops: arrays in, arrays out.

No classes and no scikit-learn here. Every kernel releases the interpreter lock, so that threads run side
by side, and works on its own image, descriptor or class alone, so that the number of threads never
changes an answer. The paper's symbols (V, gamma, zeta, beta) live here; the layers speak words.
"""
