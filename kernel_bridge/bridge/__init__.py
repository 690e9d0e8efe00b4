"""leo-bridge, which steers real TCP flows through eBPF: its program in Rust, its process, and its client."""
