"""Colours of all pictures of path traces."""

from leogym.traces.path import handover

DELAY, DOWN, HARD, SOFT, DARK = "#0b5cad", "#c8c8c8", "#b3261e", "#8a6d00", "#444444"

EVENTS = {
    handover.HARD: ("hard handover", HARD),
    handover.SOFT: ("soft handover", SOFT),
    handover.UNREACHABLE: ("unreachable", DARK),
}
"""Label and colour by kind of event."""
