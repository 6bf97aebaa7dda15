"""Every kind of pixel becomes the same grey, and every kind of broken file one clear line."""

import io
import os
import struct
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from PIL import Image, ImageFile

from ddlcn.errors import ImageError
from ddlcn.images import check_image, decode_file, read_colour, read_grey, value_range

RGB = np.random.default_rng(0).integers(0, 256, (12, 9, 3), dtype=np.uint8)
LUMA = (RGB / 255) @ [0.299, 0.587, 0.114]


def saved(path: Path, image: Image.Image, **options) -> Path:
    image.save(path, **options)
    return path


def with_orientation(path: Path, image: Image.Image, number: int) -> Path:
    exif = Image.Exif()
    exif[0x0112] = number
    return saved(path, image, exif=exif)


def tiff(dtype: str, pixels: np.ndarray, sample_format: int) -> bytes:
    """An uncompressed grey TIFF, so that no mode depends on what Pillow can write."""
    end, (height, width) = dtype[0], pixels.shape
    body = pixels.astype(dtype).tobytes()
    tags = (256, 257, 258, 259, 262, 273, 277, 278, 279, 339)
    values = (width, height, 8 * np.dtype(dtype).itemsize, 1, 1, 8, 1, height, len(body), sample_format)
    entries = b"".join(struct.pack(end + "HHII", tag, 4, 1, value) for tag, value in zip(tags, values, strict=True))
    head = (b"II*\0" if end == "<" else b"MM\0*") + struct.pack(end + "I", 8 + len(body))
    return head + body + struct.pack(end + "H", len(tags)) + entries + bytes(4)


FILES = [("1", "a.png"), ("L", "a.png"), ("RGBA", "a.png"), ("P", "a.png")]
FILES += [("RGB", name) for name in ("a.png", "a.bmp", "a.tif", "a.ppm", "a.webp")]


@pytest.mark.parametrize(("mode", "name"), FILES)
def test_colours_are_weighed_without_rounding(tmp_path, mode, name):
    """Also more pixels than are weighed at a time."""
    pixels = np.random.default_rng(0).integers(0, 256, (300, 400, 3), dtype=np.uint8)
    image = Image.fromarray(pixels).convert(mode)
    path = saved(tmp_path / name, image, lossless=True)
    assert check_image(path) is None
    grey = read_grey(path)
    assert (grey.dtype, grey.flags.c_contiguous) == (np.float32, True)
    np.testing.assert_allclose(grey, (np.asarray(image.convert("RGB")) / 255) @ [0.299, 0.587, 0.114], atol=1e-6)


@pytest.mark.parametrize(
    ("mode", "name", "tolerance"),
    [
        ("L", "a.pgm", 0.004),
        ("LA", "a.png", 0.004),
        ("P", "a.gif", 0.1),
        ("CMYK", "a.tif", 0.01),
        ("YCbCr", "a.tif", 0.01),
        ("L", "a.jpg", 0.03),
        ("RGB", "a.jpg", 0.03),
        ("CMYK", "a.jpg", 0.03),
    ],
)
def test_every_mode_is_the_same_grey(tmp_path, mode, name, tolerance):
    ramp = Image.linear_gradient("L").resize((32, 32)).convert("RGB")
    image = ramp.convert(mode, dither=Image.Dither.NONE)
    grey = read_grey(saved(tmp_path / name, image))
    np.testing.assert_allclose(grey, np.asarray(ramp)[..., 0] / 255, atol=tolerance)


@pytest.mark.parametrize("dtype", ["<u2", ">u2"])
def test_16_bit(tmp_path, dtype):
    pixels = np.array([[0, 256, 65535], [1, 32768, 77]])
    (tmp_path / "a.tif").write_bytes(tiff(dtype, pixels, 1))
    (tmp_path / "a.pgm").write_bytes(b"P5 3 2 65535\n" + pixels.astype(">u2").tobytes())
    saved(tmp_path / "a.png", Image.fromarray(pixels.astype(np.uint16)))
    for path in tmp_path.iterdir():
        np.testing.assert_allclose(read_grey(path), pixels / 65535, atol=1e-7)
    assert read_grey(pixels.astype(dtype)).tolist() == read_grey(tmp_path / "a.png").tolist()


def test_lab_signed_and_nan_files(tmp_path):
    white, black = (saved(tmp_path / f"{i}.tif", Image.new("LAB", (2, 2), (i, 128, 128))) for i in (255, 0))
    assert read_grey(white).min() > 0.99 > 0.01 > read_grey(black).max()
    (tmp_path / "signed.tif").write_bytes(tiff("<i4", np.array([[-65535, 0, 65535]]), 2))
    np.testing.assert_allclose(read_grey(tmp_path / "signed.tif"), [[0, 0.5, 1]])
    (tmp_path / "nan.tif").write_bytes(tiff("<f4", np.array([[0, np.nan]]), 3))
    assert "NaN or infinite pixels" in (check_image(tmp_path / "nan.tif") or "")


@pytest.mark.parametrize("white", [1, 255, 65535, 1e6])
def test_float_file_has_the_least_scale_that_holds_it(tmp_path, white):
    pixels = np.array([[0.0, 0.25], [0.5, 1.0]])
    (tmp_path / "a.tif").write_bytes(tiff("<f4", pixels * white, 3))
    np.testing.assert_allclose(read_grey(tmp_path / "a.tif"), pixels, atol=1e-6)


def test_transparency_is_laid_over_white(tmp_path):
    clear = Image.new("RGBA", (1, 1), (0, 0, 0, 0))
    half = Image.new("RGBA", (1, 1), (0, 0, 0, 51))
    palette = Image.new("P", (2, 1))
    palette.putpalette([0, 0, 0, 0, 0, 0])
    palette.putpixel((1, 0), 1)
    deep = Image.fromarray(np.array([[7, 0]], dtype=np.uint16))
    assert read_grey(saved(tmp_path / "a.png", clear)) == 1
    assert read_grey(saved(tmp_path / "b.png", half)) == pytest.approx(0.8)
    assert read_grey(saved(tmp_path / "c.png", palette, transparency=0)).tolist() == [[1, 0]]
    assert read_grey(saved(tmp_path / "d.png", palette, transparency=b"\x00\xff")).tolist() == [[1, 0]]
    assert read_grey(saved(tmp_path / "e.png", Image.new("L", (1, 1), 9), transparency=9)) == 1
    assert read_grey(saved(tmp_path / "f.png", deep, transparency=7)).tolist() == [[1, 0]]


@pytest.mark.parametrize("turn", [*range(10), 255, 65535])
@pytest.mark.parametrize("name", ["a.jpg", "a.png", "a.tif", "a.webp"])
def test_orientations(tmp_path, turn, name):
    grey = read_grey(with_orientation(tmp_path / name, Image.linear_gradient("L").resize((32, 16)), turn))
    assert grey.shape == ((32, 16) if turn in (5, 6, 7, 8) else (16, 32))
    if turn == 6:  # what was at the bottom is at the left
        assert grey[:, 0].min() > 0.8 > 0.2 > grey[:, -1].max()


@pytest.mark.filterwarnings("ignore:Corrupt EXIF")
def test_damaged_exif_does_not_lose_the_image(tmp_path):
    path = saved(tmp_path / "a.jpg", Image.new("L", (4, 4), 255), exif=b"Exif\0\0II*\0\xff\xff\xff\xffjunk")
    assert read_grey(path).min() == 1


def test_first_frame(tmp_path):
    frames = [Image.new("L", (2, 2), value) for value in (255, 0)]
    for name in ("a.gif", "a.tif", "a.webp", "a.png"):
        path = saved(tmp_path / name, frames[0], save_all=True, append_images=frames[1:])
        assert read_grey(path).min() > 0.98


BROKEN = {  # content, and a word of the message
    "empty.png": (b"", "is empty"),
    "two\nlines.png": (b"", "is empty"),
    "text.png": (b"no image at all", "known kind"),
    "page.png": (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "known kind"),
    "no pixels.pgm": (b"P5 0 0 255\n", "no pixels|damaged"),
    "bomb.pgm": (b"P5 1000000 1000000 255\n", "decompression bomb"),
    "just over.pgm": (b"P5 10001 10000 255\n", "decompression bomb"),
}


def broken_files(folder: Path) -> dict[str, str]:
    """Broken files by name, each with a word of its message."""
    for name, (content, _) in BROKEN.items():
        (folder / name).write_bytes(content)
    (folder / "folder.png").mkdir()
    os.mkfifo(folder / "pipe.png")
    words = {"folder.png": "is a folder", "pipe.png": "no regular file"}
    words |= {"missing.png": "does not exist", "nul\0.png": "does not exist"}
    noise = np.random.default_rng(1).integers(0, 256, (64, 64, 3), dtype=np.uint8)
    for kind in ("png", "jpg", "gif", "bmp", "tif", "ppm", "webp"):
        path = saved(folder / f"cut.{kind}", Image.fromarray(noise))
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        words[path.name] = "damaged"
    return words | {name: word for name, (_, word) in BROKEN.items()}


@pytest.mark.parametrize("action", ["error", "ignore"])
def test_broken_files_are_one_line(tmp_path, action):
    limits = Image.MAX_IMAGE_PIXELS, ImageFile.LOAD_TRUNCATED_IMAGES
    with warnings.catch_warnings():
        warnings.simplefilter(action)
        for name, word in broken_files(tmp_path).items():
            with pytest.raises(ImageError, match=word) as caught:
                read_grey(tmp_path / name)
            assert "\n" not in str(caught.value)
            assert str(caught.value) == f"{str(tmp_path / name)!r} {check_image(tmp_path / name)}"
    assert limits == (Image.MAX_IMAGE_PIXELS, ImageFile.LOAD_TRUNCATED_IMAGES)


def test_a_pixel_limit_of_the_callers():
    content = b"P5 100 100 255\n" + bytes(10_000)
    with pytest.raises(ImageError, match="over the limit"):
        decode_file(io.BytesIO(content), max_pixels=9_999)
    assert decode_file(io.BytesIO(content), max_pixels=10_000).size == 10_000


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("a.png", {}),
        ("a.jpg", {}),
        ("a.bmp", {}),
        ("a.ppm", {}),
        ("a.tif", {}),
        ("a.tif", {"compression": "tiff_lzw"}),
        ("a.gif", {"disposal": 2}),
    ],
)
def test_pixel_limit_of_pillow(tmp_path, monkeypatch, name, options):
    """It plays no part, neither as an error nor as a warning."""
    path = saved(tmp_path / name, Image.new("RGB", (9, 7)), **options)
    for limit in (40, 20):
        monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", limit)
        assert read_grey(path).shape == (7, 9)


@pytest.mark.parametrize("name", ["a.webp", "front.png", "back.png", "a.jpg", "a.tif"])
def test_many_bytes_for_few_pixels(tmp_path, name):
    """Metadata of 140 MB, sparse on disk, is refused before it takes memory."""
    path, size = tmp_path / name, 140 << 20
    content = saved(path, Image.fromarray(RGB)).read_bytes()
    with path.open("wb") as file:
        if name == "a.webp":
            file.write(
                b"RIFF" + struct.pack("<I", len(content) + size) + content[8:] + b"junk" + struct.pack("<I", size)
            )
            file.seek(size, os.SEEK_CUR)
        elif name == "a.jpg":
            segment = b"\xff\xe3\xff\xff" + bytes(65533)
            file.write(content[:2] + segment * (size // len(segment)) + content[2:])
        elif name == "a.tif":  # a directory at the end, with a tag of any bytes
            tags = [(256, 1, 9), (257, 1, 12), (258, 1, 8), (262, 1, 1), (273, 1, 8), (279, 1, 108)]
            entries = [struct.pack("<HHII", tag, 4, n, value) for tag, n, value in tags]
            entries.append(struct.pack("<HHII", 37724, 7, size, 8))
            file.write(b"II*\0" + struct.pack("<I", size + 8))
            file.seek(size, os.SEEK_CUR)
            file.write(struct.pack("<H", len(entries)) + b"".join(entries) + bytes(4))
        else:
            cut = 33 if name == "front.png" else -12  # behind the header, or before the end
            file.write(content[:cut] + struct.pack(">I", size) + b"prIv")
            file.seek(size + 4, os.SEEK_CUR)
            file.write(content[cut:])
        file.truncate()
    with pytest.raises(ImageError, match="more bytes than its pixels need"):
        read_grey(path)


def test_shrunk_while_decoding(tmp_path):
    ramp = Image.linear_gradient("L").resize((800, 400)).convert("RGB")
    for name, least_side, shape in (("a.jpg", 90, (100, 200)), ("a.jpg", 300, (400, 800)), ("a.png", 90, (100, 200))):
        with saved(tmp_path / name, ramp).open("rb") as file:
            colour = decode_file(file, least_side=least_side, max_pixels=320_000, colour=True)
        assert colour.shape == (*shape, 3)
        assert np.ptp(colour[:, 10, 0]) > 240
    for name, raises in (("a.jpg", False), ("a.png", True)):
        with (tmp_path / name).open("rb") as file, pytest.raises(ImageError) if raises else nullcontext():
            decode_file(file, least_side=90, max_pixels=20_000)  # the limit is for what is decoded


@pytest.mark.parametrize("mode", ["1", "L", "P", "LA", "RGB", "RGBA"])
def test_shrunk_by_means(tmp_path, mode):
    """Transparent pixels have no part in the colour of a shrunk image, whatever theirs is."""
    image = Image.new("RGBA", (8, 6), (0, 0, 0, 255))
    image.paste((255, 255, 255, 0 if "A" in mode else 255), (0, 0, 4, 6))
    with saved(tmp_path / "a.png", image.convert(mode)).open("rb") as file:
        grey = decode_file(file, least_side=3)
    np.testing.assert_allclose(grey, np.repeat([[1, 1, 0, 0]], 3, axis=0), atol=0.01)


def test_threads_agree(tmp_path):
    paths = [saved(tmp_path / f"{i}.jpg", Image.fromarray(np.roll(RGB, i))) for i in range(20)]
    with ThreadPoolExecutor(8) as pool:
        for one, many in zip(map(read_grey, paths), pool.map(read_grey, paths), strict=True):
            np.testing.assert_array_equal(one, many)


def test_arrays_by_dtype_and_shape():
    np.testing.assert_allclose(read_grey(RGB), LUMA, atol=1e-6)
    np.testing.assert_allclose(read_grey(RGB.astype(np.uint16) * 257), LUMA, atol=1e-6)
    np.testing.assert_allclose(read_grey(RGB / 255), LUMA, atol=1e-6)
    np.testing.assert_allclose(read_grey(RGB.astype(np.int64), value_range=(0, 255)), LUMA, atol=1e-6)
    np.testing.assert_array_equal(read_grey(RGB[..., :1]), read_grey(RGB[..., 0]))
    assert read_grey(np.array([[True, False]])).tolist() == [[1, 0]]
    assert read_grey([[0.0, 1.0]]).tolist() == [[0, 1]]
    assert read_grey(np.asfortranarray(RGB[..., 0])).flags.c_contiguous


@given(hnp.arrays(np.uint8, hnp.array_shapes(min_dims=2, max_dims=2, max_side=6)), st.integers(0, 255))
def test_grey_colours_are_exactly_grey(grey, alpha):
    colour = np.repeat(grey[..., None], 3, axis=2)
    opaque, clear = (np.dstack([colour, np.full_like(grey, value)]) for value in (255, 0))
    np.testing.assert_array_equal(read_grey(colour), read_grey(grey))
    np.testing.assert_array_equal(read_grey(opaque), read_grey(grey))
    assert (read_grey(clear) == 1).all()
    some = read_grey(np.dstack([colour, np.full_like(grey, alpha)]))
    assert ((some >= read_grey(grey) - 1e-6) & (some <= 1)).all()


@given(hnp.arrays(np.float64, (3, 4), elements=st.floats(-1e6, 1e6)))
def test_value_range_maps_to_the_unit_interval(pixels):
    low, high = value_range([pixels, "ignored.png", RGB])
    assert low <= pixels.min() <= pixels.max() <= high
    grey = read_grey(pixels, value_range=(low, high))
    assert 0 <= grey.min() <= grey.max() <= 1


def test_value_range_of_nothing_and_of_a_constant():
    assert value_range([]) == value_range([RGB, "a.png", Path("b.png")]) == (0, 1)
    assert value_range(np.full((2, 3, 3), 7.0)) == (7, 8)
    with pytest.raises(ImageError, match="image number 1 has NaN"):
        value_range([np.zeros((2, 2)), np.full((2, 2), np.nan)])
    with pytest.raises(ImageError, match="value_range"):
        read_grey(np.zeros((2, 2)), value_range=(1, 1))


@pytest.mark.parametrize(
    ("array", "word"),
    [
        *((array, "is no image") for array in (np.zeros(4), np.zeros((2, 2, 2)), np.zeros((1, 2, 2, 3)), None)),
        *((np.array([[value]]), "NaN or infinite pixels") for value in (np.nan, np.inf, 1e300)),
        *((np.array([[value]]), "no numbers") for value in (1j, "a", None)),
        (np.zeros((0, 3)), "no pixels"),
        ([[1, 2], [3]], "give a path or an array"),
    ],
)
def test_unusable_arrays_are_one_line(array, word):
    with pytest.raises(ImageError, match=word) as caught:
        read_grey(array)
    assert "\n" not in str(caught.value)


def test_colour_is_for_people(tmp_path):
    for name in ("a.png", "a.bmp", "a.tif"):
        found = read_colour(saved(tmp_path / name, Image.fromarray(RGB)))
        np.testing.assert_array_equal(found, RGB)
        assert found.flags.writeable
    np.testing.assert_array_equal(read_colour(RGB / 255), RGB)
    grey = read_colour(RGB[..., 0])
    np.testing.assert_array_equal(grey, np.repeat(RGB[..., :1], 3, axis=2))
    turned = with_orientation(tmp_path / "turned.png", Image.fromarray(RGB), 6)
    np.testing.assert_array_equal(read_colour(turned), np.rot90(RGB, -1))
    np.testing.assert_array_equal(read_colour(np.array([[-1.0, 0.5, 3.0]]))[0, :, 0], [0, 128, 255])
    with pytest.raises(ImageError, match="NaN"):
        read_colour(np.full((2, 2), np.nan))
