"""Methods that would need too much memory are refused before they start."""

from __future__ import annotations

from ddlcn.errors import DDLCNError

LARGEST = 4 << 30  # bytes


def check_memory(need: int, what: str, remedy: str) -> None:
    """Raise an error that names the remedy if a method needs too many bytes.

    Parameters
    ----------
    need : int
        Bytes.
    what, remedy : str
        For the message.

    Raises
    ------
    DDLCNError
        If `need` exceeds `LARGEST`.

    Examples
    --------
    >>> check_memory(20 << 30, "codes of 60000 samples", "give fewer")
    Traceback (most recent call last):
    ddlcn.errors.DDLCNError: codes of 60000 samples need 20.0 GB, more than 4: give fewer
    """
    if need > LARGEST:
        raise DDLCNError(f"{what} need {need / 2**30:.1f} GB, more than {LARGEST / 2**30:g}: {remedy}")


def check_codes(n_samples: int, n_atoms: int) -> None:
    """Raise if dense codes of samples over atoms and products of atoms, three of each, are too large."""
    need = 24 * n_atoms * (n_samples + n_atoms)
    check_memory(need, f"codes of {n_samples} samples over {n_atoms} atoms", "give fewer of either")
