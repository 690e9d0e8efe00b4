//! Memory shared with the eBPF programs: one slot per flow. Layouts mirror `kernel_bridge/bridge/bpf/flow.h`.

use std::any::Any;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU64, Ordering, fence};

/// Slots per scheme, and so its maximum number of concurrent flows.
pub const SLOTS: usize = 1024;

/// The source of a flow's window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Nothing yet: the initial window stays until the first command.
    Held,
    /// The agent.
    Steered,
    /// The kernel's Cubic, because no command came in time.
    FallenBack,
    /// The program itself: SaTCP.
    ItsOwn,
}

/// Counters and state of a flow, written by the kernel.
#[repr(C, align(64))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flow {
    /// Odd while the kernel writes the other fields.
    pub sequence: u64,
    /// `CLOCK_MONOTONIC` at the start, in µs.
    pub opened_us: u64,
    /// `CLOCK_MONOTONIC` of these values, in µs.
    pub updated_us: u64,
    /// Sum of the RTT samples, in µs.
    pub rtt_sum_us: u64,
    /// Number of RTT samples.
    pub rtt_samples: u64,
    /// Sum of the delivery-rate samples, in bytes/s.
    pub rate_sum: u64,
    /// Number of delivery-rate samples.
    pub rate_samples: u64,
    /// Sum, over the RTT samples, of the time since `opened_us`; this and the next two wrap.
    pub time_sum_us: u64,
    /// Sum of time × RTT.
    pub time_rtt_sum: u64,
    /// Sum of time².
    pub time_square_sum: u64,
    /// Bytes acknowledged cumulatively.
    pub bytes_acked: u64,
    /// Bytes sent, retransmissions included.
    pub bytes_sent: u64,
    /// Pacing rate in bytes/s; `u64::MAX` when unpaced.
    pub pacing_rate: u64,
    /// `CLOCK_MONOTONIC` at which the latest command took effect, in ns.
    pub applied_ns: u64,
    /// Sequence of that command.
    pub applied_command: u64,
    /// `SO_COOKIE` if a process asked for it before the connection, else 0.
    pub cookie: u64,
    /// Odd while the slot is in use.
    pub generation: u32,
    /// Packets delivered, selectively acknowledged ones included; this and the next three wrap.
    pub delivered: u32,
    /// Packets deemed lost.
    pub lost: u32,
    /// Packets sent, retransmissions included.
    pub sent: u32,
    /// Packets retransmitted.
    pub retransmitted: u32,
    /// Smoothed RTT, in eighths of a µs.
    pub srtt_us_8: u32,
    /// RTT variation, in quarters of a µs.
    pub mdev_us_4: u32,
    /// Smallest RTT of the last 300 s, in µs; `u32::MAX` before the first sample.
    pub min_rtt_us: u32,
    /// Congestion window, in packets.
    pub cwnd: u32,
    /// Slow-start threshold, in packets.
    pub ssthresh: u32,
    /// Packets sent but not yet acknowledged cumulatively.
    pub packets_out: u32,
    /// Retransmitted packets still outstanding.
    pub retrans_out: u32,
    /// Packets that the kernel assumes to be in the network.
    pub in_flight: u32,
    /// Payload of a full packet, in bytes.
    pub mss: u32,
    /// 0 held, 1 steered, 2 fallen back, 3 the program's own.
    pub mode: u32,
    /// Number of fallbacks to Cubic.
    pub fallbacks: u32,
    /// Retransmission timeouts.
    pub timeouts: u32,
    /// User who owns the socket.
    pub uid: u32,
    /// Inode of its network namespace.
    pub netns: u32,
    pub(crate) family: u16,
    pub(crate) local_port: u16,
    pub(crate) remote_port: u16,
    pub(crate) unused: [u16; 3],
    pub(crate) local: [u8; 16],
    pub(crate) remote: [u8; 16],
}

impl Flow {
    /// The source of the window.
    pub const fn mode(&self) -> Mode {
        match self.mode {
            0 => Mode::Held,
            1 => Mode::Steered,
            2 => Mode::FallenBack,
            _ => Mode::ItsOwn,
        }
    }

    /// Whether the slot holds an open flow.
    pub const fn is_open(&self) -> bool {
        self.generation % 2 == 1
    }

    /// Local address and port.
    pub fn local(&self) -> SocketAddr {
        SocketAddr::new(self.address(self.local), self.local_port)
    }

    /// Remote address and port.
    pub fn remote(&self) -> SocketAddr {
        SocketAddr::new(self.address(self.remote), self.remote_port)
    }

    fn address(&self, bytes: [u8; 16]) -> IpAddr {
        const AF_INET: u16 = 2;
        if self.family == AF_INET {
            IpAddr::V4(Ipv4Addr::new(bytes[0], bytes[1], bytes[2], bytes[3]))
        } else {
            IpAddr::V6(Ipv6Addr::from(bytes))
        }
    }
}

/// A command for a flow, written by the daemon.
#[repr(C, align(64))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// Odd while the daemon writes the other fields; [`Slots::command`] counts it up.
    pub sequence: u64,
    /// `CLOCK_MONOTONIC` of the command, in µs.
    pub time_us: u64,
    /// Time without a command after which the flow falls back, in µs; the kernel waits at least 2 sRTT.
    pub patience_us: u64,
    /// Pacing rate in bytes/s; 0: unpaced.
    pub pacing_rate: u64,
    /// SaTCP attributes losses until then to an announced handover, `CLOCK_MONOTONIC` in µs.
    pub frozen_until_us: u64,
    /// Congestion window, in packets; 0 leaves it unchanged.
    pub cwnd: u32,
    /// Generation of the flow that the command is for.
    pub generation: u32,
}

const _: () = assert!(size_of::<Flow>() == 256 && size_of::<Command>() == 64);

/// The flows and commands of one scheme.
#[derive(Debug)]
pub struct Slots {
    flows: NonNull<Flow>,
    commands: NonNull<Command>,
    _memory: Box<dyn Any>,
}

impl Slots {
    /// Wrap arrays that `memory` keeps alive.
    ///
    /// # Safety
    /// The pointers lead to [`SLOTS`] flows and [`SLOTS`] + 1 commands, valid and in place as long as `memory`
    /// lives. No other writer exists for the commands, and a writer of a flow keeps its sequence odd meanwhile.
    pub unsafe fn new(flows: NonNull<Flow>, commands: NonNull<Command>, memory: Box<dyn Any>) -> Self {
        Self { flows, commands, _memory: memory }
    }

    /// Return a consistent copy of a slot's flow; `None` if the kernel keeps writing it.
    pub fn flow(&self, slot: usize) -> Option<Flow> {
        assert!(slot < SLOTS, "slot {slot} of {SLOTS}");
        // SAFETY: in bounds, by the contract of `new`.
        let flow = unsafe { self.flows.add(slot) };
        // SAFETY: `sequence` is the first field, aligned, and written atomically.
        let sequence = unsafe { AtomicU64::from_ptr(flow.cast().as_ptr()) };
        // A write takes some 100 ns, unless an interrupt takes the writer's core meanwhile.
        for _ in 0..10_000 {
            let before = sequence.load(Ordering::Acquire);
            if before % 2 == 0 {
                // SAFETY: valid for reads; the code below discards a torn copy.
                let copy = unsafe { ptr::read_volatile(flow.as_ptr()) };
                fence(Ordering::Acquire);
                if sequence.load(Ordering::Relaxed) == before {
                    return Some(copy);
                }
            }
            std::hint::spin_loop();
        }
        None
    }

    /// Command a slot's flow. Return the command's sequence, which the kernel sets as `applied_command` when
    /// the command takes effect.
    pub fn command(&mut self, slot: usize, command: Command) -> u64 {
        assert!(slot < SLOTS, "slot {slot} of {SLOTS}");
        // SAFETY: in bounds, by the contract of `new`.
        let place = unsafe { self.commands.add(slot) };
        // SAFETY: `sequence` is the first field, aligned, and we are its only writer.
        let sequence = unsafe { AtomicU64::from_ptr(place.cast().as_ptr()) };
        let before = sequence.load(Ordering::Relaxed);
        sequence.store(before + 1, Ordering::Relaxed);
        fence(Ordering::Release);
        // SAFETY: valid for writes of a Command; the reader discards torn copies.
        unsafe { ptr::write_volatile(place.as_ptr(), Command { sequence: before + 1, ..command }) };
        sequence.store(before + 2, Ordering::Release);
        before + 2
    }

    /// Set how long new flows wait for their first command, in µs; 0 without commands.
    pub fn set_first_patience_us(&mut self, patience_us: u64) {
        // SAFETY: in bounds, by the contract of `new`: one command more than slots.
        let place = unsafe { self.commands.add(SLOTS) };
        // SAFETY: valid for writes; an aligned word is written in one piece and read alone by the kernel.
        unsafe { ptr::write_volatile(&raw mut (*place.as_ptr()).patience_us, patience_us) };
    }

    /// Return how long new flows wait for their first command, in µs.
    pub fn first_patience_us(&self) -> u64 {
        // SAFETY: in bounds, by the contract of `new`; only `set_first_patience_us` (`&mut self`) writes it.
        unsafe { ptr::read_volatile(&raw const (*self.commands.add(SLOTS).as_ptr()).patience_us) }
    }

    /// Return the slot's command.
    pub fn commanded(&self, slot: usize) -> Command {
        assert!(slot < SLOTS, "slot {slot} of {SLOTS}");
        // SAFETY: in bounds, and only `command` writes it, through `&mut self`.
        unsafe { ptr::read_volatile(self.commands.add(slot).as_ptr()) }
    }
}
