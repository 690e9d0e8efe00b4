"""Learned congestion control: one folder per scheme, the training loops and their shared code."""

import os

# PyTorch's matrix library (MKL) otherwise rounds by where an array lies in memory, which differs between runs
# of one seed. It reads this once, before its first product.
os.environ.setdefault("MKL_CBWR", "AVX2")
