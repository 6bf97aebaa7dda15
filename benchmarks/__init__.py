"""How fast we are: against what a user could pick instead, and against what the machine permits.

`python -m benchmarks` runs every part, prints one table and writes it into docs/benchmarks.md;
`python -m benchmarks sift coding` runs some parts; `--quick` runs them smaller and writes nothing.
Each part is a module with `rows(quick)`, and runs in a process of its own with one BLAS thread.
"""
