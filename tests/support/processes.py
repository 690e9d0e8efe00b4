"""Processes that a test looks for."""

from leogym.common.processes import descendants as descendants
