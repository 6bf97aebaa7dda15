"""Many clients at once against `ddlcn serve`: what they wait, what is refused, what memory it takes.

    python benchmarks/serve_load.py --clients 200 --seconds 60

A model of scikit-learn's digits is trained and served on this machine by `ddlcn serve` itself. Each client
holds a connection and asks without pause, half of the time what an image shows and half of the time why;
when told to come again later it does as told. Client and server share the cores.
"""

import argparse
import asyncio
import io
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np
from PIL import Image
from sklearn.datasets import load_digits

from ddlcn import DDLCNClassifier


def request(path: str, field: str, content: bytes) -> bytes:
    """A whole HTTP request that uploads a file."""
    body = (
        f'--x\r\nContent-Disposition: form-data; name="{field}"; filename="a.png"\r\n\r\n'.encode()
        + content
        + b"\r\n--x--\r\n"
    )
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=x\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


async def client(port: int, questions: list[bytes], end: float, waits: list[float], statuses: Counter) -> None:
    """Ask until the end."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        turn = 0
        while time.perf_counter() < end:
            start = time.perf_counter()
            writer.write(questions[turn % len(questions)])
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            await reader.readexactly(int(re.search(r"content-length: (\d+)", head)[1]))  # type: ignore[index]
            status = int(head.split()[1])
            statuses[status] += 1
            if status == 503:
                await asyncio.sleep(int(re.search(r"retry-after: (\d+)", head)[1]))  # type: ignore[index]
            else:
                waits.append(time.perf_counter() - start)
                turn += 1
    except (OSError, asyncio.IncompleteReadError) as error:
        statuses[type(error).__name__] += 1
    finally:
        writer.close()


def resident(pid: int) -> float:
    """Megabytes that a process holds."""
    return int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[1]) / 1024  # type: ignore[index]


async def load(port: int, pid: int, clients: int, seconds: float, questions: list[bytes]) -> dict[str, object]:
    waits: list[float] = []
    statuses: Counter = Counter()
    end = time.perf_counter() + seconds
    work = asyncio.gather(*(client(port, questions, end, waits, statuses) for _ in range(clients)))
    memory = []
    while not work.done():
        await asyncio.sleep(1)
        memory.append(resident(pid))
    await work
    half = len(memory) // 2
    return {
        "clients": clients,
        "seconds": seconds,
        "statuses": {str(status): n for status, n in sorted(statuses.items(), key=str)},
        "answers_a_second": round(len(waits) / seconds, 1),
        "p50_ms": round(1000 * float(np.percentile(waits, 50))),
        "p99_ms": round(1000 * float(np.percentile(waits, 99))),
        "memory_mb": {
            "after_10_s": round(memory[min(9, half)]),
            "half": round(memory[half]),
            "end": round(memory[-1]),
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60)
    args = parser.parse_args()
    digits = load_digits()
    pixels = Image.fromarray((digits.images[1000] * 15.9).astype(np.uint8)).resize((64, 64))
    file = io.BytesIO()
    pixels.save(file, "PNG")
    questions = [
        request("/api/predict", "images", file.getvalue()),
        request("/api/explain", "image", file.getvalue()),
    ]
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder, "digits.ddlcn")
        DDLCNClassifier(n_jobs=-1).fit(digits.images[:900], digits.target[:900]).save(model)
        command = [sys.executable, "-m", "ddlcn", "serve", str(model), "--port", "0"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout
            port = int(re.search(r":(\d+)/", server.stdout.readline())[1])  # type: ignore[index]
            result = asyncio.run(load(port, server.pid, args.clients, args.seconds, questions))
            os.kill(server.pid, signal.SIGINT)
            result |= {"exit_code": server.wait(20), "cores": os.cpu_count()}
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
