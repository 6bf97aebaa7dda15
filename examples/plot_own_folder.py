"""
Your own folder of images
=========================

Put the images of each class in a folder of its own. Here the folder is made by the script: crosses, rings
and stripes, slightly rotated and with noise. Use the path of your own folder instead.
"""

import shlex
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from PIL import Image, ImageDraw

from ddlcn import DDLCNClassifier, load_images
from ddlcn.report import draw_explanation, save_figure

home = TemporaryDirectory()
folder = Path(home.name, "shapes")
rng = np.random.default_rng(0)


def draw(kind):
    """A grey image of 64 × 64 pixels with one shape."""
    picture = Image.new("L", (64, 64), 60)
    pen, (x, y), r = ImageDraw.Draw(picture), rng.integers(24, 40, 2), rng.integers(12, 20)
    if kind == "ring":
        pen.ellipse([x - r, y - r, x + r, y + r], outline=200, width=5)
    if kind == "cross":
        pen.line([x - r, y - r, x + r, y + r], fill=200, width=5)
        pen.line([x - r, y + r, x + r, y - r], fill=200, width=5)
    if kind == "stripes":
        for offset in (-r, 0, r):
            pen.line([x + offset, y - r, x + offset, y + r], fill=200, width=5)
    rotated = picture.rotate(rng.uniform(-15, 15), fillcolor=60)
    noisy = np.asarray(rotated) + rng.normal(0, 12, (64, 64))
    return Image.fromarray(noisy.clip(0, 255).astype(np.uint8))


for kind in ("cross", "ring", "stripes"):
    (folder / kind).mkdir(parents=True)
    for number in range(20):
        draw(kind).save(folder / kind / f"{number:02}.png")
(folder / "ring" / "broken.png").write_bytes(b"not an image")

# %%
# On the command line
# -------------------
# Train on eight images per class and test on the others. The broken file is skipped and listed.


def run(command):
    """Run a command, and print it with its output."""
    words = [sys.executable, "-m", *shlex.split(command)]  # the ddlcn of this Python, wherever PATH leads
    done = subprocess.run(words, cwd=home.name, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    print(f"$ {command}\n{done.stdout}")
    done.check_returncode()


run("ddlcn train shapes -o shapes.ddlcn --train-per-class 8 --jobs 1")

# %%
# The model is one file. It classifies new images:

draw("ring").save(Path(home.name, "new.png"))
run("ddlcn predict shapes.ddlcn new.png --top 3 --format table")

# %%
# In Python
# ---------
# ``load_images`` also reads a CSV file, IDX files or an ``.npz`` file.

shapes = load_images(folder)
print(len(shapes), "images of", ", ".join(shapes.target_names))
for path, reason in shapes.skipped:
    print("skipped", Path(path).name, "which", reason)

train, test = shapes.split(per_class=8, seed=0)
model = DDLCNClassifier().fit(train.images, train.labels)
print(f"accuracy {model.score(test.images, test.labels):.1%} on {len(test)} images")

# %%
# Why did an image get its label? On the command line: ``ddlcn explain shapes.ddlcn new.png -o why.png``.

save_figure(draw_explanation(model, Path(home.name, "new.png")), "own-folder-why.png")
home.cleanup()
