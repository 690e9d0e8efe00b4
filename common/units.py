"""Conversions of time; times inside programs are integers in nanoseconds."""

NS_PER_S = 1_000_000_000
NS_PER_MS = 1_000_000
