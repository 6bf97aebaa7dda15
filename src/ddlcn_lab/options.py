"""What `ddlcn bench` asks for: arguments and options of the command line, which `ddlcn.cli.bench` uses."""

import typer

DATASET = typer.Argument(
    metavar="DATASET",
    help="mnist, yaleb, yaleb-excluded, ar, caltech101, caltech256, flowers17, neu_det, wbc1, digits or folder:PATH; "
    "or paper: every row of the results page.",
)
OUT = typer.Option(
    "--out",
    metavar="DIR|FILE",
    help="Run folder: a new one, or one to resume. With paper: a file of rows.",
    show_default="with paper, in a clone: docs/results/paper.jsonl",
)
ONLY = typer.Option(
    "--only",
    metavar="NAME,…",
    help="With paper: tables (table1 to table4, new, curves, leak) or data sets.",
    show_default="all",
)
HOURS = typer.Option(
    "--hours", min=0, metavar="X", help="With paper: start no new row after this time.", show_default="no limit"
)
PLAN = typer.Option("--plan", help="With paper: show the rows that are left and an estimate of the time, run nothing.")
DATA = typer.Option(
    "--data", metavar="DIR", help="Folder of the data sets.", show_default="$DDLCN_DATA or ~/.cache/ddlcn"
)
METHODS = typer.Option(
    metavar="NAME,…", help="Names, as in ddlcn,llc; with parameters, as in ddlcn:C=0.1.", show_default="ddlcn"
)
SETTINGS = typer.Option(
    "--pq",
    metavar="P-Q,…",
    help="Images and atoms per class, as in 1-1,15-15,A-15 (A: all images); auto, for ddlcn-best, if left out there.",
    show_default="the paper's",
)
T = typer.Option(
    "--t", metavar="N,…", help="Training images per class, as in 15,30 or 0.5 or all.", show_default="the paper's"
)
SPLITS = typer.Option(metavar="N", help="Number of random splits.", show_default="the paper's")
GRID = typer.Option("--grid", metavar="NAME", help="Experiments to run: table, curves, paper-curves or ablation.")
LEAK = typer.Option(
    "--leak-test-images",
    help="Also repeat the paper's mistake in each row, to measure how much it inflates the accuracy.",
)
RUNS = typer.Argument(metavar="RUN", help="Run folders, or files of rows, of ddlcn bench.")
FORMAT = typer.Option("--format", metavar="NAME", help="terminal, markdown, html or json.")
