"""Earth, ground sites and satellites: where they are, and who sees whom."""
