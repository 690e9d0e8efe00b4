"""What every room says of results: measurements, metrics, intervals, where they come from, how they look."""
