"""Functions that tests run as tasks, and an object that tasks share."""

import os
import signal
import time
from contextlib import suppress

import numpy as np
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array

from ddlcn.errors import DDLCNError


def rows(seed, n_rows=3, n_columns=40):
    """Some sparse rows."""
    dense = np.random.RandomState(seed).rand(n_rows, n_columns).astype(np.float32)
    return csr_array(np.where(dense > 0.5, dense, 0))


def logged_rows(seed, log, wait=0.0):
    """Some sparse rows; each call leaves a line in a file."""
    with open(log, "a") as file:
        file.write(f"{seed}\n")
    time.sleep(wait)
    return rows(seed)


def total(*values):
    """The sum of all numbers in arrays, sparse rows, and lists and dicts of these."""
    values = [list(value.values()) if isinstance(value, dict) else value for value in values]
    return np.sum([total(*each) if isinstance(each, list | tuple) else each.sum() for each in values])


def fail(text):
    """Raise."""
    raise DDLCNError(text)


def die(seed, marker=None):
    """Kill this process, unless another has died of the same marker."""
    with suppress(FileExistsError), open(marker or os.devnull, "x" if marker else "w") as file:
        file.write(str(os.getpid()))
        file.flush()
        os.kill(os.getpid(), signal.SIGKILL)
    return rows(seed)


class Atoms:
    """An object that describes itself; each that is made leaves a line in a file."""

    def __init__(self, atoms, settings, log=os.devnull):
        self.atoms, self.settings, self.log = np.asarray(atoms), settings, log
        with open(log, "a") as file:
            file.write(f"{os.getpid()}\n")

    def to_dict(self):
        return {"settings": self.settings, "log": self.log}

    def arrays(self):
        return {"atoms": self.atoms}

    @classmethod
    def from_dict(cls, description, arrays):
        return cls(arrays["atoms"], **description)


def scaled(atoms, number):
    """Something that needs the object."""
    return atoms.atoms * (atoms.settings["scale"] * number)


def check_rows(found, seeds=range(6)):
    """Check that sparse rows are those of some seeds."""
    for ours, seed in zip(found, seeds, strict=True):
        assert_array_equal(ours.toarray(), rows(seed).toarray())
