"""The host: private namespaces, and the schemes of its kernel."""
