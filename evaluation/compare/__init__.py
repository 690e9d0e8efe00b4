"""``leogym evaluate compare``: the differences between two evaluations and their significance."""
