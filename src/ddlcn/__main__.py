"""`python -m ddlcn`, the same as `ddlcn`."""

from ddlcn.cli import main

if __name__ == "__main__":
    main()
