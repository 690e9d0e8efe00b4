"""Trains an agent: ``python train.py --help``."""


def main() -> int:
    """Run the command line of this process; return its exit status."""
    try:
        from agents import train_cli  # here, because it takes seconds in which Ctrl-C may come

        return train_cli.main()
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    raise SystemExit(main())
