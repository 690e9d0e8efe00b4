"""Exchange formats: other tools' traces in and out. One file a format."""
