"""Run suites and write their report: see ``python evaluate.py --help``."""


def main() -> int:
    """Run the command line of this process; return its exit status."""
    try:
        from evaluation import cli  # here, because it takes seconds in which Ctrl-C may come

        return cli.main()
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    raise SystemExit(main())
