"""Benchmarks: one JSON object per line, with a value and its baseline."""
