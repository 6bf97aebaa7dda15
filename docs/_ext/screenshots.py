"""Make the pictures of the README and the guide by the real program: python docs/_ext/screenshots.py

Leaves are drawn by examples/plot_colour_photographs.py, so the pictures may be redistributed. It needs Chromium, the
extra `serve` and selenium, and takes some minutes.
"""

import io
import os
import pty
import runpy
import shlex
import shutil
import struct
import subprocess
import sys
import termios
import time
from contextlib import chdir, contextmanager
from fcntl import ioctl
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from PIL import Image
from rich.console import Console
from rich.text import Text
from selenium import webdriver

ROOT = Path(__file__).parents[2]
FIGURES = ROOT / "docs" / "figures"
LARGEST = 150_000  # bytes
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--hide-scrollbars")
PAPER = """<body style="margin:0;background:#1d1f21"><pre style="color:#d8d8d8;padding:20px 26px;margin:0;
display:inline-block;font:15px/1.35 'DejaVu Sans Mono',monospace">{code}</pre>"""
SHOWN = "return document.querySelector('#map').naturalWidth > 0 && document.querySelector('#photo').naturalWidth > 0"


def save(picture, name):
    """Write a picture: as PNG of 256 colours, or a JPEG of the best quality that is small enough."""
    picture, data = picture.convert("RGB"), io.BytesIO()
    if name.endswith(".png"):
        picture.quantize(256, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE).save(data, "PNG", optimize=True)
    for quality in range(90, 50, -5) if name.endswith(".jpg") else ():
        data = io.BytesIO()
        picture.save(data, "JPEG", quality=quality, optimize=True, subsampling=0)
        if data.tell() < LARGEST:
            break
    assert data.tell() < LARGEST, name
    (FIGURES / name).write_bytes(data.getvalue())
    print(f"{name}: {picture.width} × {picture.height}, {data.tell() / 1000:.0f} kB")


def photographed(browser, name, width, height, top=0):
    """Save what a browser shows in so many pixels."""
    size = {"width": width, "height": height + top, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    time.sleep(1)
    shot = Image.open(io.BytesIO(browser.get_screenshot_as_png()))
    save(shot.crop((0, top, width, height + top)), name)


def on_terminal(command):
    """What a command prints on a terminal of 80 columns, with colours."""
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 80, 0, 0))
    words = [sys.executable, "-m", *shlex.split(command)]
    env = os.environ | {"TERM": "xterm-256color", "COLUMNS": "80"}
    with subprocess.Popen(words, stdout=theirs, stderr=subprocess.DEVNULL, env=env) as process:
        os.close(theirs)
        printed = b""
        while True:
            try:
                printed += os.read(ours, 1 << 16)
            except OSError:  # the end, on Linux
                break
    os.close(ours)
    assert process.returncode == 0, command
    return f"\x1b[1m$ {command}\x1b[0m\n{printed.decode().replace(chr(13), '')}"


def terminal(browser, name, *commands):
    """A picture of commands and what they print."""
    console = Console(record=True, width=80, file=io.StringIO())
    console.print(Text.from_ansi("\n".join(map(on_terminal, commands))))
    page = Path(name).with_suffix(".html")
    page.write_text(console.export_html(inline_styles=True, code_format=PAPER), "utf-8")
    browser.get(page.absolute().as_uri())
    box = browser.find_element("tag name", "pre").size
    photographed(browser, name, box["width"], box["height"])


@contextmanager
def served(model, port=8765):
    """The address of a running server."""
    with subprocess.Popen([sys.executable, "-m", "ddlcn", "serve", model, "--port", str(port)]) as process:
        time.sleep(8)
        try:
            yield f"http://127.0.0.1:{port}/"
        finally:
            process.terminate()


def main():
    """Draw leaves, train, test, explain and serve; and keep what a user would see."""
    runpy.run_path(str(ROOT / "examples" / "plot_look_inside.py"))
    save(Image.open("look-inside-why.png"), "explanation.jpg")
    example = runpy.run_path(str(ROOT / "examples" / "plot_colour_photographs.py"))
    rng = np.random.default_rng(1)
    for kind in example["LEAVES"]:
        for folder, n in (("leaves", 30), ("new", 2)):
            place = Path(folder, kind if folder == "leaves" else "")
            place.mkdir(parents=True, exist_ok=True)
            for number in range(n):
                name = f"{number:02}.jpg" if folder == "leaves" else f"{kind}-{number}.jpg"
                example["draw"](kind, rng, 160).save(place / name, quality=92)
    options = webdriver.ChromeOptions()
    for flag in FLAGS:
        options.add_argument(flag)
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    try:
        train = "ddlcn train leaves -o leaves.ddlcn --train-per-class 10 --report report"
        terminal(browser, "tour-train.png", train)
        terminal(browser, "tour-predict.png", "ddlcn predict leaves.ddlcn new --top 2")
        on_terminal("ddlcn explain leaves.ddlcn new/ivy-0.jpg -o why.png")
        with Image.open("why.png") as why:
            save(why.resize((1280, round(why.height * 1280 / why.width)), Image.Resampling.LANCZOS), "leaf.jpg")
        browser.get(Path("report", "index.html").absolute().as_uri())
        photographed(browser, "tour-report.png", 1280, 900)
        with served("leaves.ddlcn") as address:
            browser.get(address)
            browser.set_window_size(1280, 900)
            files = [str(Path("new", f"{kind}-0.jpg").absolute()) for kind in ("maple", "oak", "birch", "ivy")]
            browser.find_element("id", "files").send_keys("\n".join(files))
            while not browser.execute_script(SHOWN):
                time.sleep(0.5)
            start = browser.find_element("id", "images").location["y"] - 40
            photographed(browser, "tour-page.jpg", 1280, 900, start)
    finally:
        browser.quit()


if __name__ == "__main__":
    with TemporaryDirectory() as home, chdir(home):
        main()
