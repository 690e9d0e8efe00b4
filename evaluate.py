"""Run suites and write their report: see ``python evaluate.py --help``."""


def main() -> int:
    """Run the command line and return its exit status."""
    try:
        from leogym.evaluation import (
            cli,  # imported here to handle Ctrl-C during the import, which takes seconds
        )

        return cli.main()
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    raise SystemExit(main())
