"""
Your own folder of images
=========================

A folder of images for each class is all it takes. Here the folder is made up: crosses, rings and stripes,
drawn with a wobble and under noise. Put the path of your own in its place.
"""

import shlex
import subprocess
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
    turned = picture.rotate(rng.uniform(-15, 15), fillcolor=60)
    noisy = np.asarray(turned) + rng.normal(0, 12, (64, 64))
    return Image.fromarray(noisy.clip(0, 255).astype(np.uint8))


for kind in ("cross", "ring", "stripes"):
    (folder / kind).mkdir(parents=True)
    for number in range(20):
        draw(kind).save(folder / kind / f"{number:02}.png")
(folder / "ring" / "broken.png").write_bytes(b"not an image")

# %%
# On the command line
# -------------------
# Eight images of each class train, the others test. The broken file is skipped and told of.


def run(command):
    """Run a command, and show it with what it said."""
    words = shlex.split(command)
    done = subprocess.run(words, cwd=home.name, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    print(f"$ {command}\n{done.stdout}")
    done.check_returncode()


run("ddlcn train shapes -o shapes.ddlcn --train-per-class 8 --jobs 1")

# %%
# The model is one file, which can be asked about new images.

draw("ring").save(Path(home.name, "new.png"))
run("ddlcn predict shapes.ddlcn new.png --top 3 --format table")

# %%
# In Python
# ---------
# The same from a script; ``load_images`` also takes a CSV manifest, IDX files or an ``.npz``.

shapes = load_images(folder)
print(len(shapes), "images of", ", ".join(shapes.target_names))
for path, reason in shapes.skipped:
    print("skipped", Path(path).name, "which", reason)

train, test = shapes.split(per_class=8, seed=0)
model = DDLCNClassifier().fit(train.images, train.labels)
print(f"{model.score(test.images, test.labels):.1%} of {len(test)} images")

# %%
# And why it answers as it does, as a picture. On the command line:
# ``ddlcn explain shapes.ddlcn new.png -o why.png``.

save_figure(draw_explanation(model, Path(home.name, "new.png")), "own-folder-why.png")
home.cleanup()
