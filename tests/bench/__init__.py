"""Benchmarks: one JSON object a line, each beside the figure it is measured against."""
