//! A TCP sender and receiver like Linux's, as state machines without a clock.
//!
//! Sequence numbers count packets of one maximum segment size. The caller drives the sender: it delivers ACKs
//! and timer expiries, and takes packets out with [`Sender::transmit`].

mod accurate_ecn;
mod burst;
mod delivery_rate;
mod handshake;
mod idle;
mod interval;
mod min_rtt;
mod pacing;
mod prr;
mod rack;
mod ranges;
mod receive_window;
mod receiver;
mod recent_blocks;
mod rtt;
mod sack;
mod scoreboard;
mod send_buffer;
mod sender;
mod stack;
mod supply;
mod undo;
mod window_usage;

pub use accurate_ecn::{AccurateFeedback, Counters, Decoder, Echo, EcnOption, negotiate};
pub use handshake::{Handshake, SYN_BYTES};
pub use interval::IntervalCounters;
pub use receive_window::ReceiveWindow;
pub use receiver::{AckToSend, Receiver};
pub use rtt::RttEstimator;
pub use sack::{MAX_SACK_BLOCKS, SackBlocks};
pub use send_buffer::SendBuffer;
pub use sender::{Sender, SenderStats, Transmit};
pub use stack::{Datagram, End, Stack, StackStats};

pub use leo_cc::{EcnMode, NEVER, Nanos, RateSample, SEGMENT_BYTES};

/// Return the time of the timestamp clock, in whole milliseconds (Linux's tcp_clock_ms).
pub const fn timestamp_ms(now: Nanos) -> u64 {
    now / 1_000_000
}

/// Bytes of a full packet on the wire.
pub const PACKET_BYTES: u32 = 1500;

/// Bytes of a packet besides its payload: IP, TCP and timestamps.
pub const HEADER_BYTES: u32 = PACKET_BYTES - SEGMENT_BYTES;

/// Bytes of a pure ACK.
pub const ACK_BYTES: u32 = HEADER_BYTES;
