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

from ddlcn import LLCCoder, presets
from ddlcn.persistence.schema import FORMAT, canonical
from tests.fuzz import networks
from tests.helpers import quick_channels, quick_model, small_digits
from tests.persistence import make_golden
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
    floats = Image.fromarray(rng.random((4, 5), dtype=np.float32))
    palette, exif = rgb.quantize(7), Image.Exif()
    exif[0x0112], exif[0x010E] = 6, "a picture"
    found = {f"rgb.{kind}": saved(rgb, kind) for kind in ("png", "jpeg", "bmp", "ppm")}
    found |= {f"exif.{kind}": saved(rgb, kind, exif=exif) for kind in ("png", "jpeg", "tiff", "webp")}
    moving = {"save_all": True, "append_images": frames}
    found |= {f"moving.{kind}": saved(rgb, kind, **moving) for kind in ("png", "gif", "tiff", "webp")}
    found |= {f"{mode}.png": saved(grey.convert(mode), "png") for mode in ("1", "L", "RGBA")}
    found |= {f"{name}.tiff": saved(grey, "tiff", compression=name) for name in ("tiff_adobe_deflate", "tiff_lzw")}
    found |= {f"palette.{kind}": saved(palette, kind, transparency=3) for kind in ("png", "gif", "bmp")}
    for name, image in (("deep", deep), ("floats", floats)):
        found |= {f"{name}.{kind}": saved(image, kind) for kind in ("tiff", "ppm")}
    return found | {
        "deep.png": saved(deep, "png"),
        "scans.jpeg": saved(rgb, "jpeg", progressive=True, icc_profile=b"profile" * 9),
        "cmyk.jpeg": saved(rgb.convert("CMYK"), "jpeg"),
        "lines.gif": saved(palette, "gif", interlace=1, comment=b"hello"),
        "runs.bmp": _runs(),
        "jpeg.tiff": saved(rgb, "tiff", compression="jpeg"),
        "fax.tiff": saved(grey.convert("1"), "tiff", compression="group4"),
        "lab.tiff": saved(Image.new("LAB", (3, 3), (128, 90, 140)), "tiff"),
        "big.tiff": tiff(2, 2, [(273, 4, 1, 220)], bytes(40), big=True),
        "plain.ppm": b"P3 # a comment\n2 2 255\n" + b" ".join(b"%d" % n for n in range(12)),
        "lossless.webp": saved(rgb.convert("RGBA"), "webp", lossless=True),
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
    jpeg, gif = good["rgb.jpeg"], good["moving.gif"]
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
        "scans.jpg": _many_scans(good["scans.jpeg"]),
        "pixels.webp": b"RIFF\x1e\0\0\0WEBPVP8X\x0a\0\0\0\x02\0\0\0" + b"\xff" * 6,
        "words.ppm": b"P3 " + b"9" * 1000,
        "comment.ppm": b"P5 #" + b"a" * MB + b"\n 8 8 255\n" + bytes(64),
        "pickle.png": b"\x80\x04\x95\x0b\0\0\0\0\0\0\0\x8c\x02os\x94.",
    }


def _many_scans(jpeg: bytes) -> bytes:
    last, end = jpeg.rindex(b"\xff\xda"), jpeg.rindex(b"\xff\xd9")
    return jpeg[:end] + jpeg[last:end] * 101 + jpeg[end:]


def idx(*shape: int, body: bytes | None = None) -> bytes:
    size = int(np.prod(shape, dtype=object)) if body is None else 0
    content = bytes(i % 251 for i in range(size)) if body is None else body
    return bytes((0, 0, 8, len(shape))) + struct.pack(f">{len(shape)}I", *shape) + content


def pair(images: bytes, labels: bytes) -> bytes:
    """Two files as one: how to pack them, the length of the first, both."""
    return b"\0" + len(images).to_bytes(4, "big") + images + labels


@cache
def idx_pairs() -> dict[str, bytes]:
    """Images and labels, as pairs of IDX files, plain or gzipped (known by their first bytes)."""
    good = idx(6, 5, 4), idx(6)
    return {"plain": pair(*good), "packed": pair(*(gzip.compress(each, mtime=0) for each in good))}


@cache
def bad_idx() -> dict[str, bytes]:
    """IDX pairs made to harm."""
    images, labels, zeros = idx(6, 5, 4), idx(6), bytes(MB)

    def bomb(*shape: int) -> bytes:
        """A gzip of zeros, of many members, that unpacks to more than any memory."""
        return gzip.compress(idx(*shape, body=zeros)) + gzip.compress(zeros) * 400

    pairs = {
        "huge": (idx(2**32 - 1, 2**32 - 1, 2**32 - 1, body=b"x"), labels),
        "huge packed": (gzip.compress(idx(2**32 - 1, 2**32 - 1, 2**32 - 1, body=b"x")), labels),
        "many": (idx(2**32 - 1, 1, 1, body=b"x"), idx(2**32 - 1, body=b"x")),
        "bomb": (bomb(6, 10_000, 8_000), labels),
        "labels bomb": (images, bomb(400 * MB)),
        "flat": (idx(6, 0, 4), labels),
        "huge and flat": (idx(2**32 - 1, 2**32 - 1, 0), labels),
        "swapped": (labels, images),
    }
    return {name: pair(*files) for name, files in pairs.items()}


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
        "UTF-16": "path,label\na.png,cat\n".encode("utf-16"),
        "giant line": b"a.png,cat\nb.png," + b"x" * (2 * MB),
        "giant label": b"a.png,cat\nb.png," + b"x" * 300 + b"\n",
        "many cells": b"a.png,cat\n" + b"," * 500_000 + b"\n",
        "open quote": b'a.png,cat\n"b.png,dog\n' * 3,
        "terminal": b"\x1b[2Jpath,label2,path\na.png,cat,1\n",
        "devices": b"/dev/zero,cat\n/dev/stdin,dog\n/dev/tty,cat\n",
        "kernel": b"/proc/kmsg,cat\n/proc/self/mem,dog\n/proc/kcore,cat\n/dev/full,dog\n",
        "outside": b"../../../../../../etc/passwd,cat\n/etc/hostname,dog\n",
        "folders": b".,cat\n/,dog\n",
        "long path": b"a/" * 5000 + b"a.png,cat\n~root/b.png,dog\n",
        "addresses": b"http://localhost/a.png,cat\nfile:///a.png,dog\n",
    }


@cache
def models() -> dict[str, bytes]:
    """Model files: three layers by LLC, with classes of booleans; both channels, deskewed, with classes of words; maps
    of a network, calibrated.
    """
    images, labels = small_digits(6, 3)
    small = {"sift__coder": LLCCoder(2), "sift__deeper_coder": LLCCoder(2), "sift__pooling__levels": (1, 2)}
    channels = quick_channels("paper", **small, sift__dictionary__deeper_atoms=(2, 2))
    model = quick_model(channels=channels, class_weight={True: 2}).fit(images, labels > 1)
    with TemporaryDirectory() as folder, networks.cache_folder(Path(folder), networks.good()["first"]):
        model.save(Path(folder, "llc"))
        network = Path(folder, "net.onnx")
        network.write_bytes(networks.good()["first"])
        few = {"images_per_class": 2, "atoms_per_class": 2, "deeper_atoms": (2,)}
        channels = [c.with_params(weight=1.0) for c in presets.paper(str(network), **few).channels[1:]]
        quick_model(channels=channels).fit(images, labels).save(Path(folder, "network"))
        golden = make_golden.FOLDER / f"format{FORMAT}.ddlcn"
        made = {name: Path(folder, name).read_bytes() for name in ("llc", "network")}
        return made | {"both": golden.read_bytes()}


@cache
def bad_models() -> dict[str, bytes]:
    """Model files made to harm."""
    return {
        **{f"changed: {name}": _changed(change) for name, change in _CHANGES.items()},
        **{f"text: {name}": _changed(lambda *_: None, text) for name, text in _TEXTS.items()},
        "long header": (2**63).to_bytes(8, "little") + b"{}",
        "deep header": (9000).to_bytes(8, "little") + b"[" * 9000,
        "no tensors": joined({}, parts(models()["both"])[1], b""),
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
    "huge tensor": _coef(shape=[2**40, 2**20], data_offsets=[0, 2**62]),
    "negative shape": _coef(shape=[-1, 2]),
    "overlap": _coef(data_offsets=[0, 4]),
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
}
