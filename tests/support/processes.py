"""Processes that a test looks for."""

from leogym.configs.processes import descendants as descendants
