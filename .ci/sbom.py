"""Copy a CycloneDX bill of materials without addresses and line numbers, so that it changes with versions only."""

import json
import sys
from pathlib import Path

source, target = map(Path, sys.argv[1:])
bom = json.loads(source.read_text())
bom["metadata"].pop("tools", None)
for component in (*bom["components"], bom["metadata"].get("component", {})):
    for key in ("externalReferences", "description"):
        component.pop(key, None)
target.write_text(json.dumps(bom, indent=1, sort_keys=True) + "\n")
