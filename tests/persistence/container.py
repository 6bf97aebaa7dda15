"""Model files taken apart and put together again, with a digest that holds."""

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

DIGEST = re.compile(rb'(?<="sha256":")[0-9a-f]{64}(?=")')


def parts(model: bytes) -> tuple[dict, dict, bytes]:
    """What safetensors says of the tensors of a file, our description, and the bytes of the tensors."""
    size = int.from_bytes(model[:8], "little")
    claims = json.loads(model[8 : 8 + size])
    return claims, json.loads(claims.pop("__metadata__")["ddlcn"]), model[8 + size :]


def joined(claims: dict, description: Any, body: bytes) -> bytes:
    """The inverse of `parts`; a description of text is taken as it is."""
    if not isinstance(description, str):
        description = json.dumps(description, sort_keys=True, separators=(",", ":"))
    entries = {"__metadata__": {"ddlcn": description, "sha256": "0" * 64}, **claims}
    header = json.dumps(entries, separators=(",", ":")).encode()
    return sealed(len(header).to_bytes(8, "little") + header + body)


def sealed(model: bytes) -> bytes:
    """A file with the digest of its content, if it has a place for one."""
    blank = DIGEST.sub(b"0" * 64, model)
    return DIGEST.sub(hashlib.sha256(blank).hexdigest().encode(), blank)


def rewrite(path: Path, change: Callable[[dict], Any]) -> None:
    """Change the description in a file."""
    claims, description, body = parts(path.read_bytes())
    change(description)
    path.write_bytes(joined(claims, description, body))
