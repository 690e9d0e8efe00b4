"""Schemes, plans, their traces and policies, and backends."""
