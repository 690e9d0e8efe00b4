"""Five questions about whole networks."""
