"""The report of 10,000 real files in 260 classes: how large it is, how fast it is written and opens.

    python benchmarks/report_page.py

Caltech-101, ten classes of Caltech-256, Extended Yale B, AR and 40 test digits of each kind of MNIST, from
$DDLCN_DATA, become one folder per class. `ddlcn train --report` trains a cheap model on three images a class
and tests it on all others; headless Chromium opens the page from disk, five times at each width,
and scrolls through it.
"""

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from PIL import Image

from ddlcn_lab.datasets import load_dataset

DIGITS = 40  # of each kind
TRAIN = ["-t", "3", "-p", "3", "-q", "2", "--preset", "paper"]
SCROLL = """
const done = arguments[0], tall = document.documentElement.scrollHeight, waits = [];
document.documentElement.style.scrollBehavior = "auto";
let step = 0, last = performance.now();
const next = (now) => {
  waits.push(now - last);
  last = now;
  scrollTo(0, (tall * step) / 120);
  if (++step > 120) done(waits.slice(1)); else requestAnimationFrame(next);
};
requestAnimationFrame(next);
"""


def gather(root: Path) -> None:
    """Copy or write the images of all sets, a folder per class."""
    for name in ("caltech101", "caltech256", "yaleb", "ar", "mnist"):
        found = load_dataset(name)
        seen: dict[str, int] = {}
        for i in reversed(range(len(found))):  # the test part of MNIST comes last
            label = str(found.labels[i])
            seen[label] = seen.get(label, 0) + 1
            if name == "mnist" and seen[label] > DIGITS:
                continue
            folder = root / f"{name} {label}"
            folder.mkdir(parents=True, exist_ok=True)
            if found.paths:
                shutil.copy(found.paths[i], folder)
            else:
                Image.fromarray(np.asarray(found.images[i])).save(folder / f"{i:05d}.png")


def opened(page: Path) -> dict[str, Any]:
    """Milliseconds until the page can be used, and between frames while it scrolls, at two widths."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or shutil.which("google-chrome") or ""
    for flag in ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(flag)
    window = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    measured = {}
    try:
        for width in (1280, 390):
            size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 600}
            window.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
            loads = []
            for _ in range(5):
                window.get(page.as_uri())
                loads.append(
                    window.execute_script(
                        "const [each] = performance.getEntriesByType('navigation');return each.domContentLoadedEventEnd"
                    )
                )
            frames = window.execute_async_script(SCROLL)
            measured[f"{width} px"] = {
                "dom_content_loaded_ms": {"median": round(median(loads)), "most": round(max(loads))},
                "scroll_frame_ms": {"median": round(median(frames), 1), "most": round(max(frames), 1)},
            }
    finally:
        window.quit()
    return measured


def main() -> None:
    os.environ.setdefault("DDLCN_DATA", str(Path(__file__).parents[2] / "shared" / "data"))
    with tempfile.TemporaryDirectory() as folder:
        data, report = Path(folder, "all"), Path(folder, "report")
        gather(data)
        command = ["train", str(data), "-o", str(Path(folder, "all.ddlcn")), *TRAIN, "--report", str(report)]
        start = time.perf_counter()
        ran = subprocess.run(
            [sys.executable, "-m", "ddlcn", *command, "--json"], check=True, stdout=subprocess.PIPE, text=True
        )
        seconds = time.perf_counter() - start
        result, page = json.loads(ran.stdout), report / "index.html"
        told = {
            "classes": len(result["classes"]),
            "files": result["n_train"] + result["n_test"],
            "tested": result["n_test"],
            "page_mb": round(page.stat().st_size / 1e6, 2),
            "seconds": round(seconds),
            "seconds_of_report": round(result["seconds"] - sum(result["timings"].values())),
            "peak_memory_mb": round(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024),
            "load_average": round(os.getloadavg()[0], 1),
            **opened(page),
        }
    print(json.dumps(told, indent=2))


if __name__ == "__main__":
    main()
