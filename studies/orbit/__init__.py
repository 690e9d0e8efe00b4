"""Orbit: results, ablations and limits, and policies that do not decide, to compare with."""
