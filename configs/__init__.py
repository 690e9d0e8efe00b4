"""Configuration: one typed schema per kind of file, and the YAML files that differ from its defaults."""
