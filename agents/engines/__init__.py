"""Training with other libraries: ``train.py --engine sb3`` and ``--engine rllib``."""
