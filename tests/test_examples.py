"""Every example runs, from any folder, and writes its figures there."""

import os

import pytest

from tests.helpers import ROOT, run_python

RUN = "import runpy, sys; runpy.run_path(sys.argv[1], run_name='__main__')"


@pytest.mark.slow
@pytest.mark.parametrize("script", sorted(ROOT.glob("examples/*.py")), ids=lambda script: script.stem)
def test_example_runs(script, tmp_path):
    data = os.environ.get("DDLCN_DATA") or str(ROOT.parent / "shared" / "data")
    cores = {"OMP_NUM_THREADS": "1"}  # scikit-learn would count them by programs of PATH, and warn
    assert run_python(RUN, script, cwd=tmp_path, MPLBACKEND="Agg", DDLCN_DATA=data, PATH="", **cores)
    assert list(tmp_path.glob("*.png"))
