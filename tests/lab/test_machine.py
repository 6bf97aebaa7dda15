"""The laboratory on platforms without POSIX modules."""

import subprocess
import sys

WITHOUT_POSIX = """
import sys
sys.modules.update(dict.fromkeys(("fcntl", "resource", "pwd", "grp")))
import ddlcn_lab.runner, ddlcn_lab.report
from ddlcn_lab import machine
print(machine.peak_memory_mb())
"""


def test_without_posix_modules():
    ran = subprocess.run([sys.executable, "-c", WITHOUT_POSIX], capture_output=True, text=True, timeout=120)
    assert (ran.returncode, ran.stdout.strip()) == (0, "None")
