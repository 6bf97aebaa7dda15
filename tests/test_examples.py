"""Every example runs, from any folder, and writes its figures there."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers import ROOT


@pytest.mark.slow
@pytest.mark.parametrize("script", sorted(ROOT.glob("examples/*.py")), ids=lambda script: script.stem)
def test_example_runs(script, tmp_path):
    data = os.environ.get("DDLCN_DATA") or str(ROOT.parent / "shared" / "data")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # where the command `ddlcn` is
    env = {**os.environ, "MPLBACKEND": "Agg", "DDLCN_DATA": data, "PATH": path}
    done = subprocess.run(
        [sys.executable, "-W", "error", script], cwd=tmp_path, env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert list(tmp_path.glob("*.png"))
