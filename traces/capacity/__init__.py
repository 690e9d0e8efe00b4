"""Models of capacity, loss and weather on a path, one per file."""
