//! How much an application may write ahead: Linux's send buffer and its auto-tuning.

use leo_cc::INITIAL_WINDOW;

use crate::SEGMENT_BYTES;

/// What Linux allots to a packet when it sizes the buffer (tcp_sndbuf_expand): the packet with its headers, rounded up
/// to a power of two, and its descriptor. It makes the buffer of a new connection 87,040 bytes.
const BYTES_PER_PACKET: u64 = 4_352;

/// The send buffer of one connection, whose application writes as much as there is room for.
///
/// A packet takes up its payload; the descriptors of large writes, 2 % of them, are not counted.
#[derive(Clone, Debug)]
pub struct SendBuffer {
    /// net.ipv4.tcp_wmem's third value and what the buffer has grown to (sk_sndbuf), in bytes.
    max_bytes: u64,
    bytes: u64,
    /// Packets written.
    written: u64,
}

impl SendBuffer {
    /// With net.ipv4.tcp_wmem's minimum, default and maximum in bytes.
    #[must_use]
    pub fn new(wmem: [u64; 3]) -> Self {
        let [_, default, max] = wmem;
        let mut buffer = Self { max_bytes: max, bytes: default, written: 0 };
        buffer.expand(INITIAL_WINDOW);
        buffer
    }

    /// All before `una` is acknowledged. Returns how many packets the application writes now.
    ///
    /// `window`: the congestion window, which is not full when `has_room`.
    pub fn refill(&mut self, una: u64, window: u32, has_room: bool) -> u64 {
        // Linux's tcp_new_space: the buffer follows the window, but not while that is what limits the sender.
        if has_room {
            self.expand(window);
        }
        let holds = self.bytes.div_ceil(u64::from(SEGMENT_BYTES));
        // Linux's sk_stream_is_writeable: a writer is woken when a third of the buffer is free.
        if (self.written - una) * 3 > holds * 2 {
            return 0;
        }
        let packets = una + holds - self.written;
        self.written += packets;
        packets
    }

    /// Linux's tcp_sndbuf_expand: two windows, one to be repaired and one to be sent meanwhile.
    fn expand(&mut self, window: u32) {
        let wanted = 2 * u64::from(window.max(INITIAL_WINDOW)) * BYTES_PER_PACKET;
        self.bytes = self.bytes.max(wanted.min(self.max_bytes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINUX: [u64; 3] = [4_096, 16_384, 4_194_304];

    #[test]
    fn a_new_connection_takes_87_040_bytes() {
        assert_eq!(SendBuffer::new(LINUX).refill(0, 10, true), 87_040_u64.div_ceil(1_448));
    }

    #[test]
    fn the_writer_is_woken_when_a_third_is_free_and_fills_the_buffer() {
        let mut buffer = SendBuffer::new(LINUX);
        let all = buffer.refill(0, 10, false);
        assert_eq!(buffer.refill(all / 3 - 1, 10, false), 0);
        assert_eq!(buffer.refill(all / 3 + 1, 10, false), all / 3 + 1);
    }

    #[test]
    fn the_buffer_follows_the_window_to_its_maximum_unless_the_window_is_full() {
        let mut buffer = SendBuffer::new(LINUX);
        buffer.refill(0, 10, true);
        let before = buffer.bytes;
        buffer.refill(1, 100, false);
        assert_eq!(buffer.bytes, before);
        buffer.refill(1, 100, true);
        assert_eq!(buffer.bytes, 870_400);
        buffer.refill(1, 100_000, true);
        assert_eq!(buffer.bytes, 4_194_304);
        buffer.refill(1, 10, true);
        assert_eq!(buffer.bytes, 4_194_304, "it never shrinks");
    }
}
