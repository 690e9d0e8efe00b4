"""Search for a controller: a small program of a documented grammar, whose numbers evolution changes."""
