"""python -m benchmarks [--quick] [part ...]"""

import argparse
import os

PARTS = (
    "commands", "photos", "predict", "pipeline", "sift", "dictionary", "coding", "svm", "presets",
    "cores", "caltech101", "mnist", "growth",
)  # fmt: skip
# read when libraries load, so set before any is; SPAMS would spin between its parallel sections
ONE_THREAD = {
    "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive",
}  # fmt: skip


def main() -> None:
    """Run parts one after another; each is written as soon as it is done."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="part", help=f"all by default: {', '.join(PARTS)}")
    parser.add_argument("--quick", action="store_true", help="smaller, and not written to docs/benchmarks.md")
    chosen = parser.parse_args()
    if unknown := set(chosen.parts) - set(PARTS):
        parser.error(f"unknown part {min(unknown)!r}; choose from {', '.join(PARTS)}")
    os.environ.update(ONE_THREAD)
    from benchmarks import report
    from benchmarks.measure import in_new_process, run

    print(report.machine(), *report.HEAD, sep="\n")  # the commit is that of the start
    for part in chosen.parts or PARTS:
        try:
            lines = [report.line(part, row) for row in in_new_process(run, part, chosen.quick)]
        except ModuleNotFoundError as error:
            lines = [report.missing(part, error)]
        print(*lines, sep="\n", flush=True)
        if not chosen.quick:
            report.write(PARTS, lines)


if __name__ == "__main__":
    main()
