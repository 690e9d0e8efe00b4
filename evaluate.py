"""Run suites and write their report: see ``python evaluate.py --help``."""

from evaluation.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
