"""How soon a flow uses its path: SEARCH, Rapid Start and Careful Resume compared with HyStart."""
