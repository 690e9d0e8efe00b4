"""Trains an agent: ``python train.py --help``."""

from agents.train_cli import main

if __name__ == "__main__":
    raise SystemExit(main())
