"""A cache of results by the inputs that determine them, so that no run is repeated."""
