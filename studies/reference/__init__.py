"""Reference results: learning curves of standard algorithms in the registered environments."""
