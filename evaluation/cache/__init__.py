"""Results kept by what decides them, so that no run is made twice."""
