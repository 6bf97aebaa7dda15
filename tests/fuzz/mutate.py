"""Mutations of files: of bytes anywhere, and of what the structure of a format would hide from chance."""

import copy
import json
import random
import struct
import zlib
from collections.abc import Callable
from typing import Any

from tests.fuzz import entries, networks, seeds
from tests.persistence.container import joined, parts, sealed

NUMBERS = (0, 1, 2, 3, 7, 8, 127, 128, 255, 256, 32767, 65535, 2**31 - 1, 2**31, 2**32 - 1, 2**63, 2**64 - 1)
# values that a JSON header might be given; text is put in as it is
VALUES = (
    None, True, False, 0, 1, 2, 3, -1, 0.5, -0.0, 15, 1000, 10**6, 2**31, 2**63, 10**400, 1e308, "", "a",
    "auto", "sift", "LLCCoder", "|O", "<U9", "<U999999999", "<i8", "|b1", "f8,(9,9)i4", "os.system", "\ud800",
    "\x1b[2J", "a" * 5000, [], [1], [1, 2], [0, 1], ["a", "b"], [[1]], [None], {}, {"a": 1},
    [1] * 2000, [1000] * 50,
)  # fmt: skip
RAW = ("NaN", "Infinity", "-Infinity", "1e999", "9" * 5000, "[" * 3000 + "]" * 3000, '{"a":' * 999, "")
TYPES = ("F32", "F64", "F16", "BF16", "I64", "U8", "BOOL", "F8_E4M3", "C64", "", "X")


def mutate(kind: str, data: bytes, rng: random.Random) -> bytes:
    """Change a file of a kind."""
    if rng.random() < 0.6:
        data = _OWN[kind](data, rng)
    if rng.random() < 0.4:
        data = havoc(kind, data, rng)
        data = SEALED[kind](data) if kind in SEALED and rng.random() < 0.7 else data
    return data


def havoc(kind: str, data: bytes, rng: random.Random) -> bytes:
    """Change bytes anywhere."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4, 8, 16))):
        at = rng.randrange(len(out) + 1)
        what = rng.randrange(6)
        if what == 0 and out:
            out[at % len(out)] = rng.randrange(256)
        elif what == 1:
            _put_number(out, at, rng.choice((1, 2, 4, 8)), rng)
        elif what == 2:
            del out[at : at + rng.choice((1, 2, 4, 16, 64))]
        elif what == 3:
            out[at:at] = out[at : at + rng.choice((1, 4, 16, 64))] * rng.choice((1, 2, 50))
        elif what == 4:
            other = rng.choice(list(CORPUS[kind]().values()))
            start = rng.randrange(len(other) + 1)
            out[at : at + 32] = other[start : start + rng.choice((4, 16, 64, 400))]
        elif rng.random() < 0.3:
            del out[at:]
    return bytes(out)


# --------------------------------------------------------------------------------------- images, IDX, text


def _put_number(out: bytearray, at: int, size: int, rng: random.Random, orders: tuple = ("little", "big")) -> None:
    out[at : at + size] = (rng.choice(NUMBERS) % (1 << 8 * size)).to_bytes(size, rng.choice(orders))


def _image(data: bytes, rng: random.Random) -> bytes:
    """Change the header, where numbers are, and make a PNG's checksums right again."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 2, 3))):
        _put_number(out, rng.randrange(min(len(out), 160) + 1), rng.choice((1, 2, 4)), rng)
    return _with_checksums(bytes(out)) if out[:4] == b"\x89PNG" else bytes(out)


def _with_checksums(png: bytes) -> bytes:
    out, at = bytearray(png[:8]), 8
    while at + 8 <= len(png):
        size = min(int.from_bytes(png[at : at + 4], "big"), len(png) - at)
        body = png[at + 4 : at + 8 + size]
        out += png[at : at + 4] + body + struct.pack(">I", zlib.crc32(body))
        at += 12 + size
    return bytes(out)


def _idx(data: bytes, rng: random.Random) -> bytes:
    """Change how the pair is packed, or a size in one of the headers."""
    out = bytearray(data)
    if rng.random() < 0.3 or len(out) < 30:
        out[:1] = bytes((rng.randrange(8),))
    else:
        start = rng.choice((5 + 4, 5 + int.from_bytes(out[1:5], "big") + 4)) + 4 * rng.randrange(3)
        _put_number(out, start, 4, rng, ("big",))
    return bytes(out)


def _manifest(data: bytes, rng: random.Random) -> bytes:
    """Put in what CSV and paths mind."""
    words = (
        b",", b"\n", b"\r", b'"', b'""', b"\0", b"\xff", b"\xef\xbb\xbf", b"path", b"label", b"a.png", b"../",
        b"/dev/zero", b"/proc/kmsg", b".", b"\x1b[2J", "\u2028ß".encode(), b" ", b"\t", b"x" * 5000,
        b",,,,\n",
    )  # fmt: skip
    out = bytearray(data)
    for _ in range(rng.choice((1, 2, 5, 20))):
        at = rng.randrange(len(out) + 1)
        out[at : at + rng.choice((0, 0, 1, 5))] = rng.choice(words)
    return bytes(out)


# -------------------------------------------------------------------------------------------- model files


def _model(data: bytes, rng: random.Random) -> bytes:
    """Change a value of the description, a claim about a tensor, or numbers in one; the digest is right."""
    try:
        claims, description, body = parts(data)
    except Exception:  # changed beyond reading before
        return data
    if not isinstance(description, dict):
        return data
    what = rng.random()
    if what < 0.55:
        for _ in range(rng.choice((1, 1, 2, 4))):
            _change(description, rng)
    elif what < 0.65:
        text = json.dumps(description, sort_keys=True, separators=(",", ":"))
        at = rng.choice([i for i, c in enumerate(text) if c in ":[,"])
        return joined(claims, text[: at + 1] + rng.choice(RAW) + text[at + 1 :], body)
    elif claims:
        name = rng.choice(list(claims))
        spec = claims[name]
        if isinstance(spec, dict) and rng.random() < 0.8:
            part = rng.choice(("dtype", "shape", "data_offsets"))
            numbers = [rng.choice((0, 1, 2, 128, 2**20, 2**62, -1, 2**64)) for _ in range(rng.randrange(4))]
            spec[part] = rng.choice(TYPES) if part == "dtype" else numbers
        else:
            claims[rng.choice(("sift.dictionary.0", "sift.dictionary.9", "evil", "svm.coef"))] = claims.pop(name)
    try:
        return joined(claims, description, body)
    except (ValueError, UnicodeError):
        return data


def _change(node: Any, rng: random.Random) -> None:
    """Change, remove or add one value somewhere below a node."""
    while True:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        if not keys:
            return
        key = rng.choice(keys)
        if isinstance(node[key], dict | list) and node[key] and rng.random() < 0.7:
            node = node[key]
            continue
        what = rng.random()
        if what < 0.1:
            del node[key]
        elif what < 0.15 and isinstance(node, dict):
            node[rng.choice(("evil", "n_jobs", "deskew", "__class__"))] = rng.choice(VALUES)
        elif what < 0.25 and isinstance(node, list):
            node.append(copy.deepcopy(rng.choice(node)))
        else:
            node[key] = copy.deepcopy(rng.choice(VALUES))
        return


_OWN = {
    "image": _image, "idx": _idx, "manifest": _manifest, "model": _model, "entry": entries.mutated,
    "onnx": networks.mutated,
}  # fmt: skip
SEALED = {"model": sealed, "entry": entries.sealed}  # with the right digest

CORPUS: dict[str, Callable[[], dict[str, bytes]]] = {
    "image": seeds.images, "idx": seeds.idx_pairs, "manifest": seeds.manifests, "model": seeds.models,
    "entry": entries.good, "onnx": networks.good,
}  # fmt: skip
