"""Build path traces from specs: attachments, routes, handovers, rows, files and their cache."""
