"""``evaluate.py compare``: the differences between two evaluations and their significance."""
