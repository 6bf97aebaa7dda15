"""How much clients may send, and how long the server waits for them."""

from typing import NamedTuple


class Limits(NamedTuple):
    """Limits of one request, of all requests together, and of every wait.

    Attributes
    ----------
    body_bytes, images : int
        Size of a request, and its number of images.
    body_seconds : float
        From the first byte of a body to the last.
    pixels : int
        Of all images of a request; of JPEGs, after they are shrunk.
    held_bytes : int
        Of the bodies of all requests.
    waiting, connections : int
        Requests in the queue, and open connections.
    head_seconds : float
        To begin a request, until its last header is here.
    request_seconds : float
        To end it: the body, the queue, the work, the last byte of the answer.
    refused_seconds : float
        To read why an upload that is still being sent was refused.
    """

    body_bytes: int = 32 * 2**20
    body_seconds: float = 20.0
    images: int = 16
    pixels: int = 32_000_000
    held_bytes: int = 256 * 2**20
    waiting: int = 32
    connections: int = 400
    head_seconds: float = 10.0
    request_seconds: float = 90.0
    refused_seconds: float = 2.0
