"""Train an agent: ``python train.py --help``."""


def main() -> int:
    """Run the command line and return its exit status."""
    try:
        from leogym.agents import (
            train_cli,  # imported here to handle Ctrl-C during the import, which takes seconds
        )

        return train_cli.main()
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    raise SystemExit(main())
