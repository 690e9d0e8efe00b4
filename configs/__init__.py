"""Configuration: a typed schema for each kind of file, and YAML files that override its defaults."""
