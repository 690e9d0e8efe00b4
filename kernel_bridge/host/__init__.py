"""What this machine is asked for: private namespaces, and the schemes that its kernel runs."""
