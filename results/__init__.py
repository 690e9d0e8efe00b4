"""Results: measurements, metrics, confidence intervals, provenance and figure style."""
