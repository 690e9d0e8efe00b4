"""Runs of whole networks: simulation, tables and the report."""
