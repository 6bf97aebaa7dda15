"""Reference pages made from the code: commands, methods, docstrings."""

import re
from functools import reduce
from importlib import import_module

from sphinx.util.docutils import SphinxDirective
from typer.main import get_command

from ddlcn.cli import GROUPS
from ddlcn.cli.app import app as typer_app
from ddlcn_lab.methods.registry import METHODS

PLAIN = (
    (r"TypeAliasForwardRef\('(\w+)'\)", r"\1"),
    (r"~numpy\.ndarray\[tuple\[~typing\.Any, \.\.\.\], ~numpy\.dtype\[~\w+\.(\w+)\]\]", r"NDArray[\1]"),
    (r"~numpy\._typing\._array_like\._Buffer \| .*?_NestedSequence\[complex \| bytes \| str\]", "ArrayLike"),
    ("<factory>", "..."),
)


class Commands(SphinxDirective):
    """A section for each command of `ddlcn`."""

    def run(self):
        """Write Markdown, and let it be parsed where the directive stands."""
        for group in GROUPS:
            import_module(f"ddlcn.cli.{group}")
        group = get_command(typer_app)
        context = group.make_context("ddlcn", [], resilient_parsing=True)
        commands = (group.get_command(context, name) for name in group.list_commands(context))
        text = "\n".join(section(command, context) for command in commands)
        return self.parse_text_to_nodes(text, allow_section_headings=True)


class Methods(SphinxDirective):
    """A table of the methods that `ddlcn bench` knows."""

    def run(self):
        """Write Markdown, as above."""
        rows = "\n".join(f"| `{name}` | {method.summary} |" for name, method in METHODS.items())
        return self.parse_text_to_nodes(f"| name | method |\n|---|---|\n{rows}\n")


def section(command, parent):
    """What a command does, how it is called, and its arguments and options."""
    context = command.make_context(command.name, [], parent=parent, resilient_parsing=True)
    usage = " ".join(["ddlcn", command.name, *command.collect_usage_pieces(context)])
    records = filter(None, (param.get_help_record(context) for param in command.get_params(context)))
    options = "\n\n".join(f"`{name}`\n: {text}" for name, text in records if "--help" not in name)
    heading, *examples = command.epilog.split("\n")
    shown = "\n".join(f"$ {example}" for example in examples)
    calls = f"```console\n$ {usage}\n```\n\n{heading}\n\n```console\n{shown}\n```"
    return f"## {command.name}\n\n{command.help}\n\n{calls}\n\n{options}\n"


def keep_formulas(app, what, name, obj, options, lines):
    """Indented formulas and diagrams of a module's docstring are literal blocks."""
    if what == "module":
        lines[:] = re.sub(r"(?m)^(\S.*\n)\n(?=    )", r"\1\n::\n\n", "\n".join(lines)).split("\n")


def plain_signature(app, what, name, obj, options, *signature):
    """Types as we wrote them, where autodoc would show what stands behind them."""
    return tuple(part and reduce(lambda text, rule: re.sub(*rule, text), PLAIN, part) for part in signature)


def skip_routing(app, what, name, obj, skip, options):
    """scikit-learn's `set_fit_request` and the like are not ours to explain."""
    return True if re.fullmatch(r"set_\w+_request", name) else None


def setup(app):
    """Register the directives and the rules."""
    app.add_directive("commands", Commands)
    app.add_directive("methods", Methods)
    app.connect("autodoc-process-docstring", keep_formulas)
    app.connect("autodoc-skip-member", skip_routing)
    app.connect("autodoc-process-signature", plain_signature)
