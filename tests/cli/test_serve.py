"""`serve`: errors; for a server that runs see tests/serve/test_server.py."""

import socket
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Run

pytest.importorskip("fastapi", reason="pip install 'ddlcn[serve]'")


def test_errors(run: Run, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert f"can't listen on 127.0.0.1:{port}" in run("serve", model, "--port", port).line
    assert "can't listen on nowhere.invalid" in run("serve", model, "--host", "nowhere.invalid").line
    assert "8 or more" in run("serve", model, "--token", "short").line
    assert "does not exist" in run("serve", "no.ddlcn").line
    for name in [name for name in sys.modules if name.startswith("ddlcn.serve")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "fastapi", None)
    assert "fastapi is not installed; pip install 'ddlcn[serve]'" in run("serve", model).line
