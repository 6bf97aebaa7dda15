"""Good files of every kind, small, for mutations to start from; and files that were made to harm."""

import gzip
import io
import struct
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from PIL import Image
from sklearn.datasets import load_digits

from ddlcn import DDLCNClassifier, LLCCoder, presets
from ddlcn.persistence.schema import canonical
from tests.persistence.container import joined, parts

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


def tiff(width: int, height: int, more: list[tuple[int, int, int, int]], body: bytes = b"", big: bool = False) -> bytes:
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
    """Model files: one layer; three by LLC; both channels, deskewed; labels of numbers, words, booleans."""
    digits = load_digits()
    images, labels = digits.images[:60], digits.target[:60] % 3
    padded = np.pad(images, ((0, 0), (3, 3), (3, 3)))
    small = {"pooling__levels": (1, 2), "coder__n_neighbors": 2}
    plain = presets.paper(atoms_per_class=1, deeper_atoms=()).channels[0].with_params(**small)
    llc = plain.with_params(coder=LLCCoder(2), deeper_coder=LLCCoder(2), dictionary__deeper_atoms=(2, 2))
    sift, grid = presets.best(atoms_per_class=1, deeper_atoms=(2,)).channels
    both = [sift.with_params(**small), grid.with_params(pooling__side=2, weight=0.5)]
    names = np.array(["a", "käfer", "b"])
    kinds = {
        "plain": DDLCNClassifier("paper", [plain]).fit(images, labels),
        "llc": DDLCNClassifier("paper", [llc], class_weight={"a": 2}).fit(images, names[labels]),
        "both": DDLCNClassifier("paper", both, deskew=True, C="auto").fit(padded, labels > 1),
    }
    with TemporaryDirectory() as folder:
        for name, model in kinds.items():
            model.save(Path(folder, name))
        return {name: Path(folder, name).read_bytes() for name in kinds}


@cache
def bad_models() -> dict[str, bytes]:
    """Model files made to harm."""
    return {
        **{f"changed: {name}": _changed(change) for name, change in _CHANGES.items()},
        **{f"text: {name}": _changed(lambda *_: None, text) for name, text in _TEXTS.items()},
        "long header": (2**63).to_bytes(8, "little") + b"{}",
        "deep header": (9000).to_bytes(8, "little") + b"[" * 9000,
        "flipped bit": models()["plain"][:-1] + bytes((models()["plain"][-1] ^ 1,)),
        "no tensors": joined({}, parts(models()["plain"])[1], b""),
        "pickle": b"\x80\x04\x95\x0b\0\0\0\0\0\0\0\x8c\x02os\x94.",
        "empty": b"",
    }


def _changed(change: Callable[[dict, dict], object], text: Callable[[str], str] = str) -> bytes:
    """A model file with other values of the description or claims about tensors, or another text of the former."""
    claims, description, body = parts(models()["llc"])
    change(description, claims)
    return joined(claims, text(canonical(description)), body)


def _part(part: str, **values: object) -> Callable[[dict, dict], object]:
    return lambda d, _: d["channels"][0][part].update(values)


def _coef(**values: object) -> Callable[[dict, dict], object]:
    return lambda _, claims: claims["svm.coef"].update(values)


_CHANGES: dict[str, Callable[[dict, dict], object]] = {
    "classes of 40 GB": lambda d, _: d.update(classes_dtype="<U999999999"),
    "huge pyramid": _part("pooling", levels=[1000] * 50),
    "enlarging": _part("descriptor", min_side=10**9, max_side=2 * 10**9),
    "many patches": _part("descriptor", min_side=9000, max_side=9000, step=1, patch_size=[4] * 9),
    "coder of another kind": _part("coder", kind="LocalityCoder"),
    "channels many": lambda d, _: d.update(channels=d["channels"] * 100, weights=[1.0] * 100),
    "format true": lambda d, _: d.update(format=True),
    "huge tensor": _coef(shape=[2**40, 2**20], data_offsets=[0, 2**62]),
    "negative shape": _coef(shape=[-1, 2]),
    "shape of text": _coef(shape="a"),
    "overlap": _coef(data_offsets=[0, 4]),
    "no coefficients": lambda _, claims: claims.pop("svm.coef"),
}
_TEXTS: dict[str, Callable[[str], str]] = {
    "NaN": lambda text: text.replace("0.35", "NaN"),
    "infinity": lambda text: text.replace("0.35", "1e999"),
    "digits": lambda text: text.replace("0.35", "9" * 5000),
    "twice": lambda text: text.replace('"n_train"', '"format":1,"n_train"'),
    "deep": lambda text: text.replace("0.35", "[" * 100_000 + "]" * 100_000),
    "wide": lambda text: "[" + "[]," * (5 * MB) + "[]]",
    "long": lambda text: " " * (16 * MB) + text,
    "spaces": lambda text: text.replace(",", ", ", 1),
    "list": lambda text: "[]",
    "number": lambda text: "1",
    "cut": lambda text: text[:-1],
    "none": lambda text: "",
}
