"""Helpers for tests of several rooms."""
