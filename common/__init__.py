"""Tools that every room uses: errors, files, processes, signals, text and command lines."""
