"""How much clients may send, and how long the server waits for them."""

from typing import NamedTuple


class Limits(NamedTuple):
    """Limits of one request, of all requests together, and of every wait."""

    body_bytes: int = 32 * 2**20
    body_seconds: float = 20.0  # from the first byte of a body to the last
    images: int = 16
    pixels: int = 32_000_000  # of all images of a request, of JPEGs as they are decoded
    held_bytes: int = 256 * 2**20  # of the bodies of all requests
    waiting: int = 32  # requests in the queue
    connections: int = 400
    head_seconds: float = 10.0  # to begin a request, until its last header is here
    request_seconds: float = 90.0  # to end it: the body, the queue, the work, the last byte of the answer
    refused_seconds: float = 2.0  # to read why an upload that is still being sent was refused
