"""The command line: a file for each group of commands, and here the entry point and every way that it ends.

An error that a user can fix ends in one line on standard error, which names the thing and the remedy; exit code 2,
or 130 after Ctrl-C.
"""

import os
import sys
from contextlib import suppress
from importlib import import_module
from typing import NoReturn

from ddlcn.cli.interrupts import interruptible
from ddlcn.cli.terminal import printable
from ddlcn.errors import DDLCNError

# A further file of commands is one more name here; it imports heavy modules inside its commands only.
GROUPS = ("train", "cross_validate", "check", "predict", "explain", "info", "serve", "bench")


def main(args: list[str] | None = None) -> NoReturn:
    """Run a command, by default the one of this process."""
    try:
        with interruptible():
            sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # file names may not be Unicode
            from ddlcn.cli.app import app

            for group in GROUPS:
                import_module(f"ddlcn.cli.{group}")
            code = app(args, prog_name="ddlcn", standalone_mode=False)
            if code == 130:  # typer returns this after Ctrl-C
                raise KeyboardInterrupt
            sys.stdout.flush()
        sys.exit(code)
    except MemoryError:
        _fail("out of memory; use fewer --jobs, fewer images or fewer atoms")
    except BrokenPipeError:
        _discard_output()
        sys.exit(1)
    except OSError as error:
        _discard_output()
        what = repr(error.filename) if error.filename else "a file or standard output"
        _fail(f"can't use {what} ({error.strerror or error}); check permissions and the space on the disk")
    except DDLCNError as error:
        _fail(str(error), 130 if str(error).startswith("interrupted;") else 2)
    except Exception as error:
        if not hasattr(error, "format_message"):
            raise
        context = getattr(error, "ctx", None)
        command = context.command_path if context else "ddlcn"
        _fail(f"{error.format_message().rstrip('.')}; see {command} --help")


def _fail(message: str, code: int = 2) -> NoReturn:
    print("ddlcn:", printable(" ".join(message.split())), file=sys.stderr, flush=True)
    sys.exit(code)


def _discard_output() -> None:
    """Discard what is left of standard output, so that Python does not fail on it again at exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
