"""Folders, manifests, IDX and npz load alike, and every fault in them is one clear line."""

import gzip
import os
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, features

from ddlcn.errors import DDLCNError, ImageError
from ddlcn.images import check_image, find_images, load_images, read_grey, readers
from ddlcn.images.readers import HEIC, READERS

BYTES = np.arange(5 * 4 * 3, dtype=np.uint8).reshape(5, 4, 3)
PHOTO = np.add.outer(np.arange(64), np.arange(80)).astype(np.uint8)


def draw(*paths: Path) -> None:
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("L", (4, 4), 100).save(path)


def idx(array: np.ndarray) -> bytes:
    return bytes((0, 0, 8, array.ndim)) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


def put_idx(folder: Path, prefix: str = "train-", dot: str = "-", zipped: bool = False, n: int = 5) -> Path:
    images, labels = (folder / f"{prefix}{what}s{dot}idx{d}-ubyte" for what, d in (("image", 3), ("label", 1)))
    for path, array in ((images, BYTES[:n]), (labels, np.array([1, 0, 1, 0, 2], np.uint8)[:n])):
        content = idx(array)
        path.with_name(path.name + ".gz" * zipped).write_bytes(gzip.compress(content) if zipped else content)
    return images.with_name(images.name + ".gz" * zipped)


@pytest.fixture
def pets(tmp_path):
    """Three dogs, two cats, and what else lies about in folders."""
    root = tmp_path / "pets"
    draw(*(root / "dogs" / name for name in ("b.png", "a.JPG", "deep/er/c.pgm")))
    draw(*(root / "cats" / name for name in ("10.png", "9.png")))
    (root / ".git").mkdir()
    for name in ("README.txt", "cats/.hidden.png", "cats/x.pgm.bad", "dogs/x.info", "dogs/notes"):
        (root / name).touch()
    draw(root / "cats" / "p_Ambient.pgm")
    return root


def refused(match: str, source, **options) -> None:
    with pytest.raises(DDLCNError, match=match) as caught:
        load_images(source, **options)
    assert "\n" not in str(caught.value)


def test_folder(pets):
    found = load_images(str(pets), n_jobs=2)
    names = ("cats/10.png", "cats/9.png", "dogs/a.JPG", "dogs/b.png", "dogs/deep/er/c.pgm")
    assert found.paths == found.images == [str(pets / name) for name in names]
    assert found.target.tolist() == [0, 0, 1, 1, 1]
    assert found.labels.tolist() == ["cats"] * 2 + ["dogs"] * 3
    assert (len(found), found.skipped, found.passed_over) == (5, [], 7)


def test_images_in_no_class_folder(pets):
    draw(pets / "stray.png")
    found = load_images(pets)
    assert (len(found), found.passed_over) == (5, 7)
    assert found.skipped == [(str(pets / "stray.png"), "is in no class folder; move it into one")]
    refused(r"stray.png' is in no class folder", pets, strict=True)


def test_a_class_of_links_alone_is_told_why_it_is_empty(tmp_path):
    pets, elsewhere = tmp_path / "pets", tmp_path / "elsewhere.png"
    elsewhere.touch()
    (pets / "cats").mkdir(parents=True)
    refused(r"'.*cats' has no images; add some", pets)
    os.symlink(elsewhere, pets / "cats" / "a.png")
    refused(r"'.*cats' has no images \(links that lead out of the data are not", pets)


def test_empty_folders_and_metadata_of_macos(pets):
    draw(pets / "__MACOSX" / "dogs" / "a.png")
    (pets / "birds").mkdir()
    found = load_images(pets)
    assert (len(found), found.target_names.tolist()) == (5, ["cats", "dogs"])
    reasons = {"__MACOSX": "is metadata of macOS; remove it", "birds": "has no images; add some or remove it"}
    assert found.skipped == [(str(pets / name), why) for name, why in reasons.items()]
    refused(r"__MACOSX' is metadata of macOS; remove it; also, '.*birds' has no images", pets, strict=True)


def test_all_problems_together(tmp_path):
    for name in "abcdefg":
        draw(tmp_path / name / "0.png")
    draw(tmp_path / "h" / "0.png", tmp_path / "h" / "1.png")
    (tmp_path / "a" / "x.png").write_bytes(b"no image")
    (tmp_path / "b" / "y.png").write_bytes(b"")
    (tmp_path / "z").mkdir()
    few = r"class 'a' has 1 usable image\(s\), class 'b' .*class 'e' .*and 2 more, 2 needed"
    refused(few + r" \(3 skipped, first '.*x.png': it is no image.*remove the classes", tmp_path, min_per_class=2)
    broken = r"strict: 2 of 11 images are broken: '.*x.png' is no image .*; also, '.*y.png' is empty.*; also, '.*z' has"
    refused(broken + r".*; also, " + few + "; add images", tmp_path, min_per_class=2, strict=True)


def test_all_wrong_lines_of_a_manifest(tmp_path):
    (tmp_path / "a.csv").write_text("path,label\na.png\nb.png,x\nc.png,\n")
    refused(r"line 2: 'a.png', line 4: 'c.png,' is not 'path,label'.*; correct the lines", tmp_path / "a.csv")


def test_photos_that_cannot_be_read(pets):
    """They are listed with the remedy; a raw file is no TIFF, though it starts like one."""
    (pets / "dogs" / "a.heic").write_bytes(b"\0\0\0\x1cftypxxxx")
    Image.new("L", (4, 4)).save(pets / "dogs" / "b.NEF", "TIFF")
    found = load_images(pets)
    assert len(found) == 5
    assert [Path(path).name for path, _ in found.skipped] == ["a.heic", "b.NEF"]
    assert "pip install 'ddlcn[heic]'" in found.skipped[0][1]
    assert "save it as JPEG" in found.skipped[1][1]
    refused(r"strict: 2 of 7 images are broken: '.*a.heic' is no image", pets, strict=True)
    (pets / "dogs" / "c.NEF").write_bytes(b"")
    refused(r"b.NEF' \(and 1 more\) is a raw file .* TIFF; also, '.*a.heic' is no image", pets, strict=True)
    assert "is a raw file" in check_image(pets / "dogs" / "b.NEF")
    (pets / "dogs" / "c.NEF").unlink()
    assert len(find_images([pets])[0]) == 7


@pytest.mark.parametrize(("name", "reader"), [("a.avif", "avif"), ("a.jp2", "jpg_2000"), ("a.j2k", "jpg_2000")])
def test_avif_and_jpeg_2000(pets, name, reader):
    if not features.check(reader):
        pytest.skip(f"this Pillow has no {reader}")
    Image.fromarray(PHOTO).save(pets / "dogs" / name)
    assert str(pets / "dogs" / name) in load_images(pets, strict=True).paths
    np.testing.assert_allclose(255 * read_grey(pets / "dogs" / name), PHOTO, atol=6)


def test_heic_without_its_reader(pets, monkeypatch):
    monkeypatch.setattr(readers, "READERS", tuple(each for each in READERS if each[0] is not HEIC))
    (pets / "dogs" / "a.HEIC").write_bytes(b"\0\0\0\x1cftypheic" + bytes(20))
    ((_, reason),) = load_images(pets).skipped
    assert reason == "is a HEIC photo; to read it, pip install 'ddlcn[heic]', or save it as JPEG"


def test_heic(pets):
    heif = pytest.importorskip("pillow_heif", reason="needs the extra heic")
    path = pets / "dogs" / "a.HEIC"
    heif.from_pillow(Image.fromarray(PHOTO).convert("RGB")).save(path)
    assert str(path) in load_images(pets, strict=True).paths
    np.testing.assert_allclose(255 * read_grey(path), PHOTO, atol=6)
    path.write_bytes(path.read_bytes()[:-50])
    assert load_images(pets).skipped[0][0] == str(path)


def test_find_images(pets):
    images, passed_over = find_images([pets / "dogs", "not/there.xyz", pets / "cats"])
    assert [Path(path).name for path in images] == ["a.JPG", "b.png", "c.pgm", "there.xyz", "10.png", "9.png"]
    assert passed_over == 5
    with pytest.raises(DDLCNError, match="no images in"):
        find_images([pets / ".git"])
    with pytest.raises(DDLCNError, match=r"^no images in '[^']*', '[^']*', '[^']*' and 2 more; "):
        find_images([pets / ".git"] * 5)


def test_broken_images_are_skipped_or_refused(pets):
    (pets / "dogs" / "bad.png").write_text("nonsense")
    (pets / "cats" / "bomb.pgm").write_bytes(b"P5 1000000 1000000 255\n")
    steps = []
    found = load_images(pets, progress=lambda done, total: steps.append((done, total)))
    assert steps[-1] == (7, 7)
    assert [Path(path).name for path, _ in found.skipped] == ["bomb.pgm", "bad.png"]
    assert "decompression bomb" in found.skipped[0][1]
    assert len(found) == len(found.paths) == 5
    with pytest.raises(ImageError, match=r"2 of 7 .*bomb.pgm' has "):
        load_images(pets, strict=True)


def test_too_little_is_left(pets):
    for name in ("10.png", "9.png"):
        (pets / "cats" / name).write_bytes(b"")
    refused(r"class 'cats' has 0 usable image.*2 skipped.*10.png", pets)
    for path in (pets / "cats").iterdir():
        path.unlink()
    refused("only 1 class.*cats': it has no images", pets)
    (pets / "cats").rmdir()
    refused("only 1 class", pets)
    assert len(load_images(pets, min_classes=1)) == 3
    refused("class 'dogs' has 3 usable .*, 4 needed", pets, min_per_class=4)


def test_sources_that_are_none(tmp_path, pets):
    refused("does not exist", tmp_path / "nowhere")
    refused("no folder per class", pets / "cats")
    refused("no collection of images", pets / "README.txt")
    refused("part='dev'", pets, part="dev")


@pytest.mark.parametrize(
    "text",
    [
        "path,label\npets/cats/9.png,cat\npets/dogs/b.png,dog\npets/gone.png,dog\n",
        "\ufeffLabel,n, Path\r\ncat,1,pets/cats/9.png\r\n\r\ndog,2,pets/dogs/b.png\r\ndog,,pets/gone.png",
        "pets/cats/9.png,cat\npets/dogs/b.png,dog\npets/gone.png,dog",
        "File;Class\npets/cats/9.png;cat\npets/dogs/b.png;dog\npets/gone.png;dog",
        "filename\tlabel\npets/cats/9.png\tcat\npets/dogs/b.png\tdog\npets/gone.png\tdog",
        "pets\\cats\\9.png;cat\npets\\dogs\\b.png;dog\npets\\gone.png;dog",
    ],
)
def test_manifest(pets, text):
    manifest = pets.parent / "list.csv"
    manifest.write_text(text, encoding="utf-8", newline="")
    found = load_images(manifest)
    assert found.paths == [str(pets / "cats" / "9.png"), str(pets / "dogs" / "b.png")]
    assert found.labels.tolist() == ["cat", "dog"]
    assert found.skipped == [(str(pets / "gone.png"), "does not exist; check the path")]


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (b"", "lists no images"),
        (b"path,label\n", "lists no images"),
        (b"path,size\na.png,cat\n", "needs path and label"),
        (b"path,label\na.png,cat\n\nb.png\n", "line 4"),
        (b"a.png,cat\nb.png,\n", "line 2"),
        (b"a.png|cat\n", "line 1"),
        (b"a.png,\xff\n", "UTF-8"),
        (b"a.png," + b"x" * 200_000, "line 1"),
    ],
)
def test_manifest_faults(tmp_path, content, match):
    (tmp_path / "list.csv").write_bytes(content)
    refused(match, tmp_path / "list.csv")


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("dot", ["-", "."])
def test_idx(tmp_path, zipped, dot):
    path = put_idx(tmp_path, "train-", dot, zipped)
    put_idx(tmp_path, "t10k-", dot, zipped, n=2)
    for found in (load_images(path), load_images(tmp_path), load_images(tmp_path, part="train")):
        np.testing.assert_array_equal(found.images, BYTES)
        assert found.target.tolist() == [1, 0, 1, 0, 2]
        assert found.target_names.tolist() == ["0", "1", "2"]
        assert (found.paths, found.source) == (None, str(path))
    assert len(load_images(tmp_path, part="test")) == 2


WHOLE = idx(BYTES)


def test_idx_folder_of_one_or_of_doubt(tmp_path):
    put_idx(tmp_path, "t10k-", zipped=True)
    plain = put_idx(tmp_path, "t10k-")
    assert load_images(tmp_path).source == str(plain)
    refused("name the one file", tmp_path, part="train")
    put_idx(tmp_path, "a-train-")
    put_idx(tmp_path, "b-train-")
    refused("a-train.*name the one file", tmp_path)


@pytest.mark.parametrize(
    ("content", "match"),
    [
        *((content, "size in its header") for content in (WHOLE[:-1], WHOLE + b"x")),
        *((content, "no IDX file") for content in (WHOLE[:9], b"", b"\0\0\x0d\3" + WHOLE[4:])),
        (WHOLE[:4] + b"\xff" * 12 + WHOLE[16:], "size in its header|bomb"),
        (idx(BYTES[:4]), "4 images and labels of shape"),
        (idx(BYTES[:0]), "is empty"),
    ],
)
@pytest.mark.parametrize("zipped", [False, True])
def test_idx_faults(tmp_path, content, match, zipped):
    path = put_idx(tmp_path, zipped=zipped)
    path.write_bytes(gzip.compress(content) if zipped else content)
    refused(match, path)


def test_idx_damaged_gzip_or_no_labels(tmp_path):
    path = put_idx(tmp_path, zipped=True)
    whole = path.read_bytes()
    for content in (whole[:-12], b"no gzip" + whole, whole[:12] + b"\xff" * 9 + whole[21:]):
        path.write_bytes(content)
        refused("is damaged", path)
    (tmp_path / "train-labels-idx1-ubyte.gz").unlink()
    refused("has no labels; put train-labels-idx1-ubyte.gz beside it", path)


@pytest.mark.parametrize("names", [("images", "labels"), ("X", "y"), ("data", "target"), ("x_train", "y_train")])
@pytest.mark.parametrize("labels", [[10, 9, 10, 9, 9], ["b", "a", "b", "a", "a"], [True, False, True, False, False]])
def test_npz(tmp_path, names, labels):
    np.savez(tmp_path / "a.npz", **dict(zip(names, (BYTES, labels), strict=True)))
    found = load_images(tmp_path / "a.npz")
    np.testing.assert_array_equal(found.images, BYTES)
    assert found.labels.tolist() == [str(label) for label in labels]
    assert found.target.tolist() == [1, 0, 1, 0, 0]


def test_npz_test_part_and_nan(tmp_path):
    images = np.zeros((3, 2, 2))
    images[1, 0, 0] = np.nan
    np.savez(tmp_path / "a.npz", x_train=BYTES, y_train=np.arange(5), x_test=images, y_test=[[0], [0], [1]])
    found = load_images(tmp_path / "a.npz", part="test")
    assert found.target.tolist() == [0, 1]
    assert found.skipped[0][0] == f"{tmp_path / 'a.npz'}[1]"
    with pytest.raises(ImageError, match="NaN or infinite pixels"):
        load_images(tmp_path / "a.npz", part="test", strict=True)


@pytest.mark.parametrize(
    ("arrays", "match"),
    [
        ({"images": BYTES}, r"labels\.npy.*with arrays images and labels"),
        ({"images": BYTES, "labels": np.zeros(5)}, "labels of float64"),
        ({"images": BYTES, "labels": np.arange(4)}, "one label an image"),
        ({"images": BYTES[0], "labels": np.arange(4)}, "n x height x width"),
        ({"images": BYTES.astype(complex), "labels": np.arange(5)}, "give numbers"),
        ({"images": np.array([None] * 5), "labels": np.arange(5)}, "can't be read"),
    ],
)
def test_npz_faults(tmp_path, arrays, match):
    np.savez(tmp_path / "a.npz", **arrays)
    refused(match, tmp_path / "a.npz")


def test_npz_that_is_none(tmp_path):
    path = tmp_path / "a.npz"
    np.savez_compressed(path, images=BYTES, labels=np.arange(5))
    whole = path.read_bytes()
    for content in (b"", b"nonsense", whole[:100], whole.replace(whole[60:90], bytes(30))):
        path.write_bytes(content)
        refused("can't be read", path)
    with open(path, "wb") as file:
        np.save(file, BYTES)
    refused("can't be read", path)


def test_links_are_not_followed_by_every_way(tmp_path):
    """Twelve folders that all link to each other: 12! ways through them."""
    root = tmp_path / "root"
    draw(*(root / f"c{i:02}" / "a.png" for i in range(12)))
    for i, j in np.ndindex(12, 12):
        os.symlink(root / f"c{j:02}", root / f"c{i:02}" / f"to{j:02}")
    found = load_images(root)
    assert len(found) == 12 * 12  # each class sees each folder once
    assert np.bincount(found.target).tolist() == [12] * 12


def test_folders_deeper_than_recursion(tmp_path):
    draw(tmp_path / "set" / "cats" / "a.png", tmp_path / "set" / "dogs" / "a.png")
    here = os.getcwd()
    try:
        os.chdir(tmp_path / "set" / "dogs")
        for _ in range(1050):
            os.mkdir("d")
            os.chdir("d")
        Image.new("L", (4, 4), 100).save("b.png")
        os.chdir(here)
        assert len(load_images(tmp_path / "set")) == 3
    finally:
        os.chdir(here)
        subprocess.run(["rm", "-rf", tmp_path / "set"], check=True)  # too deep for pytest's own tidying


def test_links_stay_inside_and_devices_do_not_block(pets, tmp_path):
    draw(tmp_path / "secret" / "s.png")
    cats = pets / "cats"
    targets = {pets / "secret": tmp_path / "secret", cats / "s.png": tmp_path / "secret" / "s.png"}
    targets |= {cats / "circle": pets, cats / "self": "self", cats / "link.png": cats / "9.png"}
    targets |= {cats / "zero.png": "/dev/zero", pets / "t10k-images-idx3-ubyte": "/dev/zero"}
    for link, target in targets.items():
        os.symlink(target, link)
    for pipe in (cats / "pipe.png", pets / "train-images-idx3-ubyte"):
        os.mkfifo(pipe)
    found = load_images(pets)
    assert found.target_names.tolist() == ["cats", "dogs"]
    assert (len(found), found.passed_over) == (6, 15)
    for name in ("pipe.csv", "pipe.npz", "train-images-idx3-ubyte"):
        os.mkfifo(tmp_path / name)
        refused("no regular file", tmp_path / name)


def test_idx_links_stay_inside(tmp_path):
    outside, labels, folder = put_idx(tmp_path), "train-labels-idx1-ubyte", tmp_path / "set"
    folder.mkdir()
    for name in (outside.name, labels):
        os.symlink(tmp_path / name, folder / name)
    refused("no folder per class", folder)
    assert len(load_images(folder / outside.name)) == 5  # but what is named is read
    (folder / outside.name).unlink()
    outside.rename(folder / outside.name)
    refused("has no labels", folder)


def test_npz_bomb(tmp_path):
    np.savez_compressed(tmp_path / "a.npz", images=np.zeros((300, 1000, 1000), np.uint8), labels=np.arange(300))
    refused("would grow from .* bomb", tmp_path / "a.npz")
