"""Run suites and write their report: see ``python evaluate.py --help``."""


def main() -> int:
    """Run the command line and return its exit status."""
    try:
        from leogym.common import entry_point  # here, to handle Ctrl-C during the import

        return entry_point.run("leogym evaluate", "leogym.evaluation.cli")
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    raise SystemExit(main())
