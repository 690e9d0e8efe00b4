"""Detectors and predictors of path changes, scored against the path traces.

python -m studies.detection [--repeats N] [--window S] [--out DIR]
"""
