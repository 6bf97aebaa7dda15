"""Errors that a user can fix.

Every message is one line that names the thing and the remedy. The command line prints it and exits with 2.
"""


class DDLCNError(ValueError):
    """A mistake that the user can fix."""


class ImageError(DDLCNError):
    """An image that can't be read or used."""


class NetworkError(DDLCNError):
    """A frozen network that is missing on this machine, or can't be used."""


class ModelFileError(DDLCNError):
    """A model file that is damaged, foreign, or of a newer version."""
