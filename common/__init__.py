"""What every room uses: errors, files, processes, signals, text, and the command line."""
