"""Pictures of evidence and of atoms, and the report: one self-contained HTML page about a tested model."""

from ddlcn.report.atoms import draw_atoms
from ddlcn.report.check_page import write_check
from ddlcn.report.curve import Point, learning_curve
from ddlcn.report.explanation import draw_explanation
from ddlcn.report.leaks import Leak, find_leaks
from ddlcn.report.page import write_report
from ddlcn.report.pixels import save_figure

__all__ = [
    "Leak",
    "Point",
    "draw_atoms",
    "draw_explanation",
    "find_leaks",
    "learning_curve",
    "save_figure",
    "write_check",
    "write_report",
]
