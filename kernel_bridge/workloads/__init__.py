"""Workloads over the kernel's TCP and UDP: the program leo-app (Rust)."""
