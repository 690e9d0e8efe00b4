"""Join and leave Ray clusters, and report their faults."""
