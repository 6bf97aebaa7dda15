"""Good files of every kind, small, for mutations to start from; and files that were made to harm."""

import gzip
import io
import json
import struct
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from PIL import Image
from sklearn.datasets import load_digits

from ddlcn import DDLCNClassifier, DenseSIFT

MB = 1 << 20


def saved(image: Image.Image, kind: str, **options: object) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def chunk(kind: bytes, data: bytes) -> bytes:
    """A chunk of a PNG."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width: int, height: int, depth: int, colour: int, packed: bytes) -> bytes:
    head = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", packed) + chunk(b"IEND", b"")


def tiff(
    width: int, height: int, more: list[tuple[int, int, int, int]], body: bytes = b"", big: bool = False
) -> bytes:
    """A grey TIFF of 8 bits with the given tags (tag, type, count, value) besides, or instead."""
    tags = {
        256: (4, 1, width), 257: (4, 1, height), 258: (3, 1, 8), 259: (3, 1, 1), 262: (3, 1, 1),
        273: (4, 1, 8), 277: (3, 1, 1), 278: (4, 1, height), 279: (4, 1, min(width * height, 2**32 - 1)),
    } | {tag: rest for tag, *rest in more}  # fmt: skip
    entry = "<HHQQ" if big else "<HHII"
    entries = b"".join(struct.pack(entry, tag, *rest) for tag, rest in sorted(tags.items()))
    if big:
        return b"II+\0" + struct.pack("<HHQQ", 8, 0, 16, len(tags)) + entries + bytes(8) + body
    return b"II*\0" + struct.pack("<IH", 8, len(tags)) + entries + bytes(4) + body


@cache
def images() -> dict[str, bytes]:
    """Good images: every reader, and the modes and features that take a way of their own."""
    rng = np.random.default_rng(0)
    rgb = Image.fromarray(rng.integers(0, 256, (11, 13, 3), dtype=np.uint8))
    grey, frames = rgb.convert("L"), [rgb.rotate(90 * turn) for turn in (1, 2)]
    deep = Image.fromarray(rng.integers(0, 1 << 16, (5, 7), dtype=np.uint16))
    palette, exif = rgb.quantize(7), Image.Exif()
    exif[0x0112], exif[0x010E] = 6, "a picture"
    return {
        "rgb.png": saved(rgb, "PNG"),
        "palette.png": saved(palette, "PNG", transparency=3),
        "deep.png": saved(deep, "PNG"),
        "rgba.png": saved(rgb.convert("RGBA"), "PNG", exif=exif),
        "bits.png": saved(grey.convert("1"), "PNG"),
        "moving.png": saved(rgb, "PNG", save_all=True, append_images=frames),
        "rgb.jpg": saved(rgb, "JPEG", exif=exif),
        "scans.jpg": saved(rgb, "JPEG", progressive=True, icc_profile=b"profile" * 9),
        "cmyk.jpg": saved(rgb.convert("CMYK"), "JPEG"),
        "moving.gif": saved(rgb, "GIF", save_all=True, append_images=frames, comment=b"hello"),
        "clear.gif": saved(palette, "GIF", transparency=2, interlace=1),
        "rgb.bmp": saved(rgb, "BMP"),
        "palette.bmp": saved(palette, "BMP"),
        "runs.bmp": _runs(),
        "rgb.tif": saved(rgb, "TIFF", exif=exif),
        "packed.tif": saved(grey, "TIFF", compression="tiff_adobe_deflate"),
        "lzw.tif": saved(palette, "TIFF", compression="tiff_lzw"),
        "jpeg.tif": saved(rgb, "TIFF", compression="jpeg"),
        "fax.tif": saved(grey.convert("1"), "TIFF", compression="group4"),
        "lab.tif": saved(Image.new("LAB", (3, 3), (128, 90, 140)), "TIFF"),
        "floats.tif": saved(Image.fromarray(rng.random((4, 5), dtype=np.float32)), "TIFF"),
        "frames.tif": saved(rgb, "TIFF", save_all=True, append_images=frames),
        "big.tif": tiff(2, 2, [(273, 4, 1, 220)], bytes(40), big=True),
        "rgb.ppm": saved(rgb, "PPM"),
        "plain.ppm": b"P3 # a comment\n2 2 255\n" + b" ".join(b"%d" % n for n in range(12)),
        "deep.pgm": saved(deep, "PPM"),
        "floats.pfm": saved(Image.fromarray(rng.random((4, 5), dtype=np.float32)), "PPM"),
        "lossy.webp": saved(rgb, "WEBP", exif=exif),
        "moving.webp": saved(rgb.convert("RGBA"), "WEBP", lossless=True, save_all=True, append_images=frames),
    }


def _runs() -> bytes:
    """A BMP of run-length codes: runs, literals, a jump, ends of lines."""
    codes = b"\x05\x01\x00\x03\x01\x02\x03\x00\x00\x00\x00\x02\x01\x01\x04\x02\x00\x00\x08\x03\x00\x01"
    head = struct.pack("<IiiHHIIiiII", 40, 8, 4, 1, 8, 1, len(codes), 0, 0, 4, 4)
    start = 14 + len(head) + 16
    return struct.pack("<2sIHHI", b"BM", start + len(codes), 0, 0, start) + head + bytes(range(16)) + codes


@cache
def bad_images() -> dict[str, bytes]:
    """Images made to harm, small ones that stand for great work; each must be refused."""
    good = images()
    jpeg, gif = good["rgb.jpg"], good["moving.gif"]
    table = 13 + (3 << ((gif[10] & 7) + 1))
    huge = zlib.compress(bytes(1000))
    return {
        "pixels.png": png(100_000, 100_000, 8, 0, huge),
        "sides.png": png(2**31 - 1, 1, 8, 0, huge),
        "short.png": png(9000, 9000, 8, 0, huge),
        "no pixels.png": png(0, 5, 8, 0, huge),
        "chunks.png": good["rgb.png"][:33] + chunk(b"teSt", b"") * 60_000 + good["rgb.png"][33:],
        "pixels.gif": gif[:6] + b"\xff\xff\xff\xff" + gif[10:],
        "comments.gif": gif[:table] + b"\x21\xfe\1a\0" * 120_000 + gif[table:],
        "pixels.bmp": good["rgb.bmp"][:18] + struct.pack("<ii", 2**30, 2**30) + good["rgb.bmp"][26:],
        "sides.bmp": good["runs.bmp"][:18] + struct.pack("<ii", 100_000_000, 1) + good["runs.bmp"][26:],
        "pixels.tif": tiff(2**20, 2**20, []),
        "strips.tif": tiff(8, 8, [(273, 4, MB, 200), (278, 4, 1, 1)], bytes(4 * MB)),
        "layers.tif": tiff(9999, 9999, [(273, 4, 2000, 200), (278, 4, 1, 5000)], bytes(8000)),
        "loop.tif": b"II*\0\x08\0\0\0\0\0\x08\0\0\0",
        "nowhere.tif": b"II*\0\xff\xff\xff\xff",
        "tags.tif": b"II+\0\x08\0\0\0" + struct.pack("<QQ", 16, 2**60),
        "segments.jpg": jpeg[:2] + b"\xff\xfe\0\2" * 120_000 + jpeg[2:],
        "exif.jpg": jpeg[:2] + b"\xff\xe1\0\x0aExif\0\0ab" * 60_000 + jpeg[2:],
        "scans.jpg": _many_scans(good["scans.jpg"]),
        "pixels.webp": b"RIFF\x1e\0\0\0WEBPVP8X\x0a\0\0\0\x02\0\0\0" + b"\xff" * 6,
        "pixels.ppm": b"P6 99999 99999 255\n",
        "words.ppm": b"P3 " + b"9" * 1000,
        "comment.ppm": b"P5 #" + b"a" * MB + b"\n 8 8 255\n" + bytes(64),
        "script.png": b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n",
        "pickle.png": b"\x80\x04\x95\x0b\0\0\0\0\0\0\0\x8c\x02os\x94.",
    }


def _many_scans(jpeg: bytes) -> bytes:
    last, end = jpeg.rindex(b"\xff\xda"), jpeg.rindex(b"\xff\xd9")
    return jpeg[:end] + jpeg[last:end] * 101 + jpeg[end:]


def idx(*shape: int, body: bytes | None = None) -> bytes:
    size = int(np.prod(shape, dtype=object)) if body is None else 0
    content = bytes(i % 251 for i in range(size)) if body is None else body
    return bytes((0, 0, 8, len(shape))) + struct.pack(f">{len(shape)}I", *shape) + content


@cache
def idx_pairs() -> dict[str, tuple[bytes, bytes]]:
    """Images and labels, as pairs of IDX files, plain or gzipped (known by their first bytes)."""
    good = idx(6, 5, 4), idx(6)
    packed = gzip.compress(good[0], mtime=0), gzip.compress(good[1], mtime=0)
    return {"plain": good, "packed": packed}


@cache
def bad_idx_pairs() -> dict[str, tuple[bytes, bytes]]:
    """IDX pairs made to harm."""
    (images, labels), zeros = idx_pairs()["plain"], bytes(MB)

    def bomb(*shape: int) -> bytes:
        """A gzip of zeros, of many members, that unpacks to more than any memory."""
        return gzip.compress(idx(*shape, body=zeros)) + gzip.compress(zeros) * 400

    return {
        "huge": (idx(2**32 - 1, 2**32 - 1, 2**32 - 1, body=b"x"), labels),
        "huge packed": (gzip.compress(idx(2**32 - 1, 2**32 - 1, 2**32 - 1, body=b"x")), labels),
        "many": (idx(2**32 - 1, 1, 1, body=b"x"), idx(2**32 - 1, body=b"x")),
        "bomb": (bomb(6, 10_000, 8_000), labels),
        "labels bomb": (images, bomb(400 * MB)),
        "empty": (idx(0, 5, 4), idx(0)),
        "flat": (idx(6, 0, 4), labels),
        "huge and flat": (idx(2**32 - 1, 2**32 - 1, 0), labels),
        "floats": (b"\0\0\x0d\3" + images[4:], labels),
        "swapped": (labels, images),
        "cut": (images[:-1], labels),
        "nothing": (b"", b""),
        "pickle": (b"\x80\x04\x95.", labels),
    }


@cache
def manifests() -> dict[str, bytes]:
    """Good manifests."""
    return {
        "plain": b"path,label\na.png,cat\nb.png,dog\n",
        "bare": b"a.png,cat\nb.png,dog\na.png,dog\n",
        "quoted": '\ufeff"label","n","path"\r\n"a ""cat""",1,a.png\r\n"käfer",2,b.png\r\n'.encode(),
    }


@cache
def bad_manifests() -> dict[str, bytes]:
    """Manifests made to harm; those of hostile paths name images that can't be read."""
    return {
        "NUL in a path": b"a.png,cat\nb\0.png,dog\n",
        "NUL in a label": b"a.png,cat\nb.png,do\0g\n",
        "not UTF-8": b"a.png,cat\nb.png,\xff\xfe\n",
        "UTF-16": "path,label\na.png,cat\n".encode("utf-16"),
        "giant line": b"a.png,cat\nb.png," + b"x" * (2 * MB),
        "giant label": b"a.png,cat\nb.png," + b"x" * 300 + b"\n",
        "giant cell": b"a.png,cat\nb.png," + b"x" * 200_000 + b"\n",
        "many cells": b"a.png,cat\n" + b"," * 500_000 + b"\n",
        "open quote": b'a.png,cat\n"b.png,dog\n' * 3,
        "terminal": b"\x1b[2Jpath,label2,path\na.png,cat,1\n",
        "devices": b"/dev/zero,cat\n/dev/stdin,dog\n/dev/tty,cat\n",
        "kernel": b"/proc/kmsg,cat\n/proc/self/mem,dog\n/proc/kcore,cat\n/dev/full,dog\n",
        "outside": b"../../../../../../etc/passwd,cat\n/etc/hostname,dog\n",
        "folders": b".,cat\n/,dog\n",
        "long path": b"a/" * 5000 + b"a.png,cat\n~root/b.png,dog\n",
        "addresses": b"http://localhost/a.png,cat\nfile:///a.png,dog\n",
        "pickle": b"\x80\x04\x95.",
        "empty": b"",
    }


@cache
def models() -> dict[str, bytes]:
    """Model files: one layer, two by LLC, the literal vector of three, upright; numbers, words, booleans."""
    digits = load_digits()
    images, labels = digits.images[:60], digits.target[:60] % 3
    kinds = {
        "plain": (DDLCNClassifier(2, 1, (), neighbors=(2,), pyramid=(1, 2), C=1.0), labels),
        "deep": (
            DDLCNClassifier(2, 1, (2,), (2,), coder="llc", preset="paper", pyramid=(1,)),
            np.array(["a", "käfer", "b"])[labels],
        ),
        "literal": (
            DDLCNClassifier(2, 1, (2, 2), neighbors=(2,), expand=True, pyramid=(1,), C=1.0),
            labels > 1,
        ),
        "upright": (
            DDLCNClassifier(
                2, 1, (2,), (2,), descriptor=DenseSIFT(density=2.0, upright=(0.2, 0.2)), pyramid=(1,), C=1.0
            ),
            labels,
        ),
    }
    with TemporaryDirectory() as folder:
        for name, (model, y) in kinds.items():
            model.fit(images, y).save(Path(folder, name))
        return {name: Path(folder, name).read_bytes() for name in kinds}


def parts(model: bytes) -> tuple[dict, dict, bytes]:
    """What safetensors says of a model file's tensors, our header, and the bytes of the tensors."""
    size = int.from_bytes(model[:8], "little")
    claims = json.loads(model[8 : 8 + size])
    header = json.loads(claims.pop("__metadata__")["ddlcn"])
    return claims, header, model[8 + size :]


def joined(claims: dict, header: object, body: bytes) -> bytes:
    """The inverse of `parts`; a header of text is taken as it is."""
    text = header if isinstance(header, str) else json.dumps(header)
    said = json.dumps({"__metadata__": {"ddlcn": text}, **claims}).encode()
    return len(said).to_bytes(8, "little") + said + body


@cache
def bad_models() -> dict[str, bytes]:
    """Model files made to harm."""
    return {
        **{f"header: {name}": _with_header(change) for name, change in _HEADERS.items()},
        **{f"text: {name}": _with_text(text) for name, text in _TEXTS.items()},
        **{f"tensors: {name}": _with_claims(change) for name, change in _CLAIMS.items()},
        **{f"numbers: {name}": _with_numbers(number) for name, number in _NUMBERS.items()},
        "long header": (2**63).to_bytes(8, "little") + b"{}",
        "deep header": (9000).to_bytes(8, "little") + b"[" * 9000,
        "no tensors": joined({}, parts(models()["plain"])[1], b""),
        "pickle": b"\x80\x04\x95\x0b\0\0\0\0\0\0\0\x8c\x02os\x94.",
        "empty": b"",
    }


def _with_header(change: Callable[[dict], object], kind: str = "deep") -> bytes:
    claims, header, body = parts(models()[kind])
    change(header)
    return joined(claims, header, body)


def _with_text(change: Callable[[str], str]) -> bytes:
    claims, header, body = parts(models()["deep"])
    return joined(claims, change(json.dumps(header)), body)


def _with_claims(change: Callable[[dict], object]) -> bytes:
    claims, header, body = parts(models()["deep"])
    change(claims)
    return joined(claims, header, body)


def _with_numbers(number: float) -> bytes:
    claims, header, body = parts(models()["deep"])
    at = claims["dictionary.0"]["data_offsets"][0]
    return joined(claims, header, body[:at] + struct.pack("<f", number) + body[at + 4 :])


def _grown(claims: dict, name: str, shape: list[int]) -> None:
    """Claim a shape, and as many bytes for it."""
    claims[name]["shape"], (start, _) = shape, claims[name]["data_offsets"]
    claims[name]["data_offsets"] = [start, start + 4 * int(np.prod(shape, dtype=object))]


_HEADERS: dict[str, Callable[[dict], object]] = {
    "classes of 40 GB": lambda h: h.update(classes_dtype="<U999999999"),
    "classes of objects": lambda h: h.update(classes_dtype="|O"),
    "classes of records": lambda h: h.update(classes_dtype="f8,(9,9)i4"),
    "classes not sorted": lambda h: h["classes"].reverse(),
    "classes twice": lambda h: h.update(classes=["a", "a", "b"]),
    "classes nested": lambda h: h.update(classes=[["a"], ["b"], ["c"]]),
    "classes missing": lambda h: h.pop("classes"),
    "literal vector": lambda h: h["params"].update(expand=True),
    "expand a word": lambda h: h["params"].update(expand="yes"),
    "parameter of objects": lambda h: h["params"].update(beta={"a": 1}),
    "parameter unknown": lambda h: h["params"].update(__class__="os.system"),
    "parameter n_jobs of text": lambda h: h["params"].update(n_jobs=["rm"]),
    "shape of words": lambda h: h["params"].update(image_shape=["a", "b"]),
    "huge pyramid": lambda h: h.update(pyramid=[1000] * 500),
    "pyramid of floats": lambda h: h.update(pyramid=[1.0]),
    "patches of none": lambda h: h["descriptor"].update(patch_size=[]),
    "patches of text": lambda h: h["descriptor"].update(patch_size="16"),
    "descriptor more": lambda h: h["descriptor"].update(evil=1),
    "descriptor a list": lambda h: h.update(descriptor=[]),
    "enlarging": lambda h: h["descriptor"].update(min_side=10**9, max_side=2 * 10**9),
    "many patches": lambda h: h["descriptor"].update(
        min_side=9000, max_side=9000, step=1, patch_size=[4] * 9
    ),
    "patches without end": lambda h: h["descriptor"].update(density=1e300),
    "patches of no density": lambda h: h["descriptor"].update(density=0),
    "density a word": lambda h: h["descriptor"].update(density="2"),
    "figures of no size": lambda h: h["descriptor"].update(upright=[0, 0]),
    "figures of huge size": lambda h: h["descriptor"].update(upright=[1e300, 1]),
    "figures of three sizes": lambda h: h["descriptor"].update(upright=[0.2, 0.2, 0.2]),
    "figures upright": lambda h: h["descriptor"].update(upright=True),
    "search of nothing": lambda h: h.update(search=0.0),
    "search of less than nothing": lambda h: h.update(search=-1),
    "search of more than all": lambda h: h.update(search=2),
    "search a list": lambda h: h.update(search=[0.1]),
    "picked from less than nothing": lambda h: h.update(picked_from=-1),
    "picked from too many": lambda h: h.update(picked_from=10**20),
    "picked from text": lambda h: h.update(picked_from="12"),
    "copies unknown": lambda h: h.update(copies="torn"),
    "neighbours none": lambda h: h["coders"][0].update(n_neighbors=0),
    "coder unknown": lambda h: h["coders"][0].update(kind="os.system"),
    "coders none": lambda h: h.update(coders=[]),
    "scale huge": lambda h: h["svm"].update(scale=1e300),
    "C a list": lambda h: h["svm"].update(C=[1]),
    "gaps too many": lambda h: h["svm"].update(duality_gap=[0.0] * 9),
    "range of one": lambda h: h.update(value_range=[0, 0]),
    "trained on text": lambda h: h.update(n_train="12"),
    "format true": lambda h: h.update(format=True),
    "format huge": lambda h: h.update(format=10**300),
}
_TEXTS: dict[str, Callable[[str], str]] = {
    "NaN": lambda text: text.replace("0.35", "NaN"),
    "infinity": lambda text: text.replace("0.35", "1e999"),
    "digits": lambda text: text.replace("0.35", "9" * 5000),
    "twice": lambda text: text.replace('"n_train"', '"format": 1, "n_train"'),
    "deep": lambda text: text.replace("0.35", "[" * 100_000 + "]" * 100_000),
    "list": lambda text: "[]",
    "number": lambda text: "1",
    "cut": lambda text: text[:-1],
    "none": lambda text: "",
}
_CLAIMS: dict[str, Callable[[dict], object]] = {
    "huge": lambda c: _grown(c, "svm.coef", [2**40, 2**20]),
    "wrong shape": lambda c: c["svm.coef"].update(shape=c["svm.coef"]["shape"][::-1]),
    "other type": lambda c: c["dictionary.0"].update(dtype="I32"),
    "other bits": lambda c: c["dictionary.0"].update(dtype="F16"),
    "negative": lambda c: c["svm.coef"].update(shape=[-1, 2]),
    "overlap": lambda c: c["svm.coef"].update(data_offsets=[0, 4]),
    "one missing": lambda c: c.pop("svm.intercept"),
    "one renamed": lambda c: c.update({"dictionary.7": c.pop("dictionary.1")}),
    "no numbers": lambda c: c["svm.coef"].update(shape="a"),
}
_NUMBERS = {"NaN": float("nan"), "infinite": float("inf"), "huge": 3e38}
