"""leo-bridge, which steers real TCP flows through eBPF: the Rust daemon, its process and its client."""
