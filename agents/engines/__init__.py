"""Training with other libraries: ``leogym train --engine sb3`` and ``--engine rllib``."""
