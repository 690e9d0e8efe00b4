//! An IP packet in a buffer that returns to its pool on drop.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use leo_link::{Codepoint, Nanos, Packet, Queued};

/// The MTU of the TUN devices, and so the size of a buffer.
pub const MTU: usize = 1500;

/// The size of the device's header before each packet: `struct virtio_net_hdr` of <linux/virtio_net.h>. It
/// says where a checksum is missing and travels with its packet, so the shell computes no checksums.
pub const DEVICE_HEADER: usize = 10;

const IPV4_HEADER_MIN: usize = 20;
const IPV6_HEADER: usize = 40;
const TCP: u8 = 6;
const UDP: u8 = 17;
/// The offset of IPv4's former TOS byte, whose two low bits are the ECN codepoint (RFC 3168 §5).
const TOS: usize = 1;
/// IPv6's traffic class begins in the first byte's low half, so the codepoint is in bits 4 and 5 of the second.
const IPV6_ECN_SHIFT: u32 = 4;

type Buffer = [u8; DEVICE_HEADER + MTU];

/// Free buffers. The pool grows to the maximum number of packets in flight and allocates no more then.
#[derive(Debug, Default)]
pub struct Pool {
    #[expect(
        clippy::vec_box,
        reason = "boxes move between the pool and packets, buffers stay where they are"
    )]
    free: RefCell<Vec<Box<Buffer>>>,
    /// Bytes of packets that the link dropped or lost.
    gone_bytes: Cell<u64>,
}

impl Pool {
    pub fn of(packets: usize) -> Rc<Self> {
        let free = (0..packets).map(|_| Box::new([0; DEVICE_HEADER + MTU])).collect();
        Rc::new(Self { free: RefCell::new(free), gone_bytes: Cell::new(0) })
    }

    pub fn take(self: &Rc<Self>) -> Datagram {
        let buffer = self.free.borrow_mut().pop().unwrap_or_else(|| Box::new([0; DEVICE_HEADER + MTU]));
        Datagram { buffer: Some(buffer), pool: Rc::clone(self), offered_at: 0, bytes: 0, flow: 0 }
    }

    pub fn gone_bytes(&self) -> u64 {
        self.gone_bytes.get()
    }
}

/// A packet, or an empty buffer for one.
#[derive(Debug)]
pub struct Datagram {
    /// `Some` until the packet is dropped.
    buffer: Option<Box<Buffer>>,
    pool: Rc<Pool>,
    pub offered_at: Nanos,
    bytes: u16,
    flow: u32,
}

impl Datagram {
    /// Return the buffer to read a device header and a packet into.
    pub fn room(&mut self) -> &mut [u8] {
        self.buffer.as_deref_mut().map_or(&mut [], |buffer| &mut buffer[..])
    }

    /// Record that `bytes` were read at `now`. Return false unless they are a packet for the link: IPv4, or IPv6
    /// from host to host.
    pub fn filled(&mut self, bytes: usize, now: Nanos) -> bool {
        self.offered_at = now;
        let Some(packet) = self.buffer.as_deref().and_then(|buffer| buffer.get(DEVICE_HEADER..bytes)) else {
            return false;
        };
        let Some(flow) = flow_of(packet) else { return false };
        self.bytes = packet.len() as u16;
        self.flow = flow;
        true
    }

    /// Return the packet as it was read, except for congestion marks.
    pub fn contents(&self) -> &[u8] {
        self.framed().get(DEVICE_HEADER..).unwrap_or_default()
    }

    /// Return the device header and the packet, for another device.
    pub fn framed(&self) -> &[u8] {
        self.buffer.as_deref().map_or(&[], |buffer| &buffer[..DEVICE_HEADER + usize::from(self.bytes)])
    }

    /// Return the buffer to the pool without counting the packet as gone.
    pub fn delivered(mut self) {
        self.bytes = 0;
    }
}

impl Drop for Datagram {
    fn drop(&mut self) {
        self.pool.gone_bytes.set(self.pool.gone_bytes.get() + u64::from(self.bytes));
        self.pool.free.borrow_mut().extend(self.buffer.take());
    }
}

impl Packet for Datagram {
    /// Its size in bytes; all else is stored apart.
    type Compact = u16;
    type Extra = Self;
    type Queued = Self;

    fn pack(self, extras: &mut VecDeque<Self>) -> u16 {
        let bytes = self.bytes;
        extras.push_back(self);
        bytes
    }

    fn unpack(_bytes: u16, extras: &mut VecDeque<Self>) -> Self {
        extras.pop_front().expect("each packet under way is there")
    }

    fn queue(self) -> Self {
        self
    }

    fn pack_queued(queued: Self, extras: &mut VecDeque<Self>) -> u16 {
        queued.pack(extras)
    }

    fn compact_bytes(bytes: &u16) -> u32 {
        u32::from(*bytes)
    }

    fn bytes(&self) -> u32 {
        u32::from(self.bytes)
    }
}

impl Queued for Datagram {
    fn bytes(&self) -> u32 {
        Packet::bytes(self)
    }

    fn flow(&self) -> u32 {
        self.flow
    }

    fn codepoint(&self) -> Codepoint {
        self.buffer.as_deref().map_or_else(Codepoint::default, |buffer| codepoint(&buffer[DEVICE_HEADER..]))
    }

    /// RFC 3168 §5: "The CE codepoint '11' is set by a router to indicate congestion", if ECN-capable.
    fn mark_congestion(&mut self) -> bool {
        let Some(buffer) = self.buffer.as_deref_mut() else { return false };
        let packet = &mut buffer[DEVICE_HEADER..];
        if !codepoint(packet).is_capable() {
            return false;
        }
        if is_ipv6(packet) {
            // IPv6 headers have no checksum.
            packet[1] |= (Codepoint::Ce as u8) << IPV6_ECN_SHIFT;
            return true;
        }
        let before = u16::from_be_bytes([packet[0], packet[TOS]]);
        packet[TOS] |= Codepoint::Ce as u8;
        let after = u16::from_be_bytes([packet[0], packet[TOS]]);
        let checksum = u16::from_be_bytes([packet[10], packet[11]]);
        [packet[10], packet[11]] = updated_checksum(checksum, before, after).to_be_bytes();
        true
    }
}

const fn is_ipv6(packet: &[u8]) -> bool {
    packet[0] >> 4 == 6
}

fn codepoint(packet: &[u8]) -> Codepoint {
    Codepoint::of(if is_ipv6(packet) { packet[1] >> IPV6_ECN_SHIFT } else { packet[TOS] })
}

/// RFC 1624 §3: "HC' = ~(~HC + ~m + m')".
fn updated_checksum(checksum: u16, before: u16, after: u16) -> u16 {
    let sum = u32::from(!checksum) + u32::from(!before) + u32::from(after);
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

/// Hash the packet's addresses, protocol and ports; the disciplines hash the result with their seed. Return `None`
/// for what is no packet of the link.
fn flow_of(packet: &[u8]) -> Option<u32> {
    let word = |at: usize| {
        packet.get(at..at + 4).map_or(0, |word| u32::from_be_bytes([word[0], word[1], word[2], word[3]]))
    };
    let mix = |hash: u32, word: u32| (hash ^ word).wrapping_mul(0x9e37_79b1).rotate_left(15);
    match packet.first()? >> 4 {
        4 if packet.len() >= IPV4_HEADER_MIN => {
            let protocol = packet[9];
            // Only the first fragment has ports, so all fragments are hashed without them and share a flow.
            let fragmented = u16::from_be_bytes([packet[6], packet[7]]) & 0x3fff != 0;
            let header = usize::from(packet[0] & 0x0f) * 4;
            let ports = if matches!(protocol, TCP | UDP) && !fragmented { word(header) } else { 0 };
            Some([word(12), word(16), ports, u32::from(protocol)].into_iter().fold(0, mix))
        }
        6 if packet.len() >= IPV6_HEADER && !is_local(packet) => {
            // A fragment's next header is its fragment header, so fragments are hashed without ports, too.
            let protocol = packet[6];
            let ports = if matches!(protocol, TCP | UDP) { word(IPV6_HEADER) } else { 0 };
            let addresses = (8..IPV6_HEADER).step_by(4).map(word);
            Some(addresses.chain([ports, u32::from(protocol)]).fold(0, mix))
        }
        _ => None,
    }
}

/// Return whether an IPv6 packet is of a single link (RFC 4291 §2.4: multicast and link-local addresses), such as a
/// router solicitation, which the kernel sends on its own.
fn is_local(packet: &[u8]) -> bool {
    let link_local = |at: usize| packet[at] == 0xfe && packet[at + 1] & 0xc0 == 0x80;
    packet[24] == 0xff || link_local(8) || link_local(24)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header from 100.64.0.1 to 100.64.0.2 with UDP ports and a correct checksum.
    fn header(tos: u8, ports: u32) -> Vec<u8> {
        let mut packet = vec![0x45, tos, 0, 28, 0, 1, 0, 0, 64, UDP, 0, 0, 100, 64, 0, 1, 100, 64, 0, 2];
        let checksum = !folded_sum(&packet);
        packet[10..12].copy_from_slice(&checksum.to_be_bytes());
        packet.extend(ports.to_be_bytes());
        packet.extend([0, 8, 0, 0]);
        packet
    }

    /// RFC 791: the one's complement sum of all 16-bit words; all ones if the checksum is correct.
    fn folded_sum(header: &[u8]) -> u16 {
        let words = header[..20].chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
        let sum: u32 = words.sum();
        ((sum & 0xffff) + (sum >> 16)) as u16
    }

    fn datagram(pool: &Rc<Pool>, packet: &[u8]) -> Datagram {
        let mut datagram = pool.take();
        let end = DEVICE_HEADER + packet.len();
        datagram.room()[DEVICE_HEADER..end].copy_from_slice(packet);
        assert!(datagram.filled(end, 7));
        datagram
    }

    /// A header from 2001:db8::1 to 2001:db8::2 with UDP ports.
    fn header6(traffic_class: u8, ports: u32) -> Vec<u8> {
        let mut packet = vec![0x60 | traffic_class >> 4, traffic_class << 4, 0, 0, 0, 8, UDP, 64];
        for last in [1, 2] {
            packet.extend([0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last]);
        }
        packet.extend(ports.to_be_bytes());
        packet.extend([0, 8, 0, 0]);
        packet
    }

    #[test]
    fn ipv6_packets_are_marked_and_told_apart_but_those_of_one_link_are_refused() {
        let pool = Pool::of(1);
        for (class, marked) in [(0b00, false), (0b01, true), (0b10, true), (0b11, true), (0xb8, false)] {
            let mut datagram = datagram(&pool, &header6(class, 0));
            assert_eq!(datagram.codepoint() as u8, class & Codepoint::MASK);
            assert_eq!(datagram.mark_congestion(), marked);
            assert_eq!(datagram.codepoint() == Codepoint::Ce, marked);
            let expected = if marked { class | 3 } else { class };
            assert_eq!(datagram.contents(), header6(expected, 0), "class {class:#b}");
        }
        let flow = |packet: &[u8]| flow_of(packet);
        assert_ne!(flow(&header6(0, 0x1000_0050)), flow(&header6(0, 0x1001_0050)));
        for (at, first, second) in [(24, 0xff, 0x02), (8, 0xfe, 0x80), (24, 0xfe, 0x80)] {
            let mut packet = header6(0, 0);
            packet[at] = first;
            packet[at + 1] = second;
            assert_eq!(flow(&packet), None);
        }
    }

    #[test]
    fn a_device_header_stays_with_its_packet_and_is_not_counted() {
        let mut datagram = datagram(&Pool::of(1), &header(0, 0));
        datagram.room()[..DEVICE_HEADER].copy_from_slice(&[1, 0, 0, 0, 0, 0, 20, 0, 6, 0]);
        assert_eq!(datagram.framed()[..DEVICE_HEADER], [1, 0, 0, 0, 0, 0, 20, 0, 6, 0]);
        assert_eq!(&datagram.framed()[DEVICE_HEADER..], header(0, 0));
        assert_eq!(Packet::bytes(&datagram), 28);
    }

    #[test]
    fn a_mark_leaves_the_checksum_right_and_comes_only_to_flows_that_understand_it() {
        let pool = Pool::of(1);
        for (tos, marked) in [(0b00, false), (0b01, true), (0b10, true), (0b11, true), (0xb8, false)] {
            let mut datagram = datagram(&pool, &header(tos, 0));
            assert_eq!(datagram.codepoint() as u8, tos & Codepoint::MASK);
            assert_eq!(datagram.mark_congestion(), marked);
            assert_eq!(datagram.codepoint() == Codepoint::Ce, marked);
            assert_eq!(folded_sum(datagram.contents()), 0xffff, "tos {tos:#b}");
        }
    }

    #[test]
    fn flows_are_told_apart_by_their_ports_but_fragments_are_not() {
        let pool = Pool::of(1);
        let flow = |packet: &[u8]| datagram(&pool, packet).flow();
        let (first, second) = (header(0, 0x1000_0050), header(0, 0x1001_0050));
        assert_ne!(flow(&first), flow(&second));
        let fragment = |mut packet: Vec<u8>| {
            packet[6] = 0x20;
            packet
        };
        assert_eq!(flow(&fragment(first)), flow(&fragment(second)));
    }

    #[test]
    fn what_the_link_drops_is_counted_and_its_buffer_used_again() {
        let pool = Pool::of(1);
        drop(datagram(&pool, &header(0, 0)));
        assert_eq!(pool.gone_bytes(), 28);
        datagram(&pool, &header(0, 0)).delivered();
        drop(pool.take());
        assert_eq!(pool.gone_bytes(), 28);
        assert_eq!(pool.free.borrow().len(), 1);
    }

    #[test]
    fn what_is_neither_ipv4_nor_ipv6_is_refused() {
        let mut datagram = Pool::of(1).take();
        for (version, bytes) in [(0x70, 50), (0x45, 19), (0x60, 39), (0, 0)] {
            datagram.room()[DEVICE_HEADER] = version;
            assert!(!datagram.filled(DEVICE_HEADER + bytes, 0), "{version:#x}");
        }
        assert!(!datagram.filled(3, 0));
    }
}
