//! Let agents steer real TCP flows: the loader of the eBPF programs, the daemon that decides every monitor
//! interval, and the socket on which it offers flows to clients. See `kernel_bridge/bridge/README.md`.

pub mod ack_driven;
pub mod ack_record;
pub mod check;
#[cfg(feature = "ebpf")]
pub mod clean;
pub mod clients;
pub mod clock;
pub mod command_line;
#[cfg(feature = "ebpf")]
pub mod daemon;
#[cfg(feature = "ebpf")]
pub mod ebpf;
#[cfg(feature = "ebpf")]
pub mod guardian;
pub mod interval;
#[cfg(feature = "ebpf")]
mod libbpf_log;
#[cfg(feature = "ebpf")]
pub mod own_object;
pub mod privileges;
pub mod protocol;
pub mod punctuality;
#[cfg(feature = "ebpf")]
pub mod serve;
pub mod service;
pub mod slot;
