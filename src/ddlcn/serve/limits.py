"""How much a client may ask for."""

from typing import NamedTuple


class Limits(NamedTuple):
    """What one request may bring, and what all may hold together."""

    body_bytes: int = 16 * 2**20
    body_seconds: float = 20.0  # from the first byte of a body to the last
    images: int = 16
    pixels: int = 32_000_000  # of all images of a request
    held_bytes: int = 256 * 2**20  # of the bodies of all requests
    waiting: int = 32  # requests in the queue
    connections: int = 400
