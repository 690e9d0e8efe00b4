"""leo-bridge, which steers real TCP flows through eBPF: the daemon (Rust), its process and its client."""
