"""From a spec to a path trace: attachment, routes, handovers, rows, and the traces that are kept."""
