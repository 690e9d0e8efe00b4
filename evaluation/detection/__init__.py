"""Detectors and predictors of path changes, scored against the path traces.

python -m evaluation.detection [--repeats N] [--window S] [--out DIR]
"""
