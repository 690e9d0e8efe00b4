"""``evaluate.py compare``: what changed between two evaluations, and whether it is significant."""
