"""Import and export of other tools' traces, one file per format."""
