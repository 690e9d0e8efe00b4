"""When a Vegas flow leaves slow start, by the phase of its start."""
