"""The command line: a file for each group of commands, and here the way in and every way out.

Whatever a user can mend ends in one line on standard error that names the thing and the remedy, exit code 2.
"""

import os
import sys
from contextlib import suppress
from importlib import import_module
from typing import NoReturn

from ddlcn.cli.interrupts import interruptible
from ddlcn.errors import DDLCNError
from ddlcn.memory import one_heap

# A further file of commands is one more name here; it imports heavy things inside its commands only.
GROUPS = ("learn", "predict", "info", "look", "bench", "serve")


def main(args: list[str] | None = None) -> NoReturn:
    """Run a command, by default the one that was typed."""
    one_heap()
    try:
        with interruptible():
            sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # file names may be no Unicode
            from ddlcn.cli.app import app

            for group in GROUPS:
                import_module(f"ddlcn.cli.{group}")
            code = app(args, prog_name="ddlcn", standalone_mode=False)
            if code == 130:  # typer's word for Ctrl-C
                raise KeyboardInterrupt
            sys.stdout.flush()
        sys.exit(code)
    except MemoryError:
        _fail("out of memory; use fewer --jobs, fewer images or fewer atoms")
    except BrokenPipeError:
        _drop_output()
        sys.exit(1)
    except OSError as error:
        _drop_output()
        what = repr(error.filename) if error.filename else "a file or standard output"
        _fail(f"can't use {what} ({error.strerror or error}); check permissions and the space on the disk")
    except DDLCNError as error:
        _fail(str(error))
    except Exception as error:
        if not hasattr(error, "format_message"):
            raise
        context = getattr(error, "ctx", None)
        command = context.command_path if context else "ddlcn"
        _fail(f"{error.format_message().rstrip('.')}; see {command} --help")


def _fail(message: str) -> NoReturn:
    line = " ".join(message.split())  # and nothing that a terminal would obey
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)
    print("ddlcn:", shown, file=sys.stderr, flush=True)
    sys.exit(2)


def _drop_output() -> None:
    """Send what is left of standard output nowhere, so that Python does not fail on it again when it ends."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
