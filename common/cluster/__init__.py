"""Ray clusters: joining and leaving them, and what can go wrong on the way."""
