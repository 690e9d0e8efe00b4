"""Training loops of other libraries: what ``train.py --engine sb3`` and ``--engine rllib`` run."""
