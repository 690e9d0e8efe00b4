//! Linux's send buffer and its auto-tuning: how much an application may write ahead.

use leo_cc::INITIAL_WINDOW;

use crate::SEGMENT_BYTES;

/// Bytes per packet when Linux sizes the buffer (tcp_sndbuf_expand): the packet with headers, rounded up to a
/// power of two, plus its descriptor. A new connection's buffer has 87,040 bytes.
const BYTES_PER_PACKET: u64 = 4_352;

/// The send buffer of a connection whose application writes whenever there is room. A packet uses its
/// payload's size. The descriptors of large writes, 2 %, are not counted.
#[derive(Clone, Debug)]
pub struct SendBuffer {
    /// Both in bytes: net.ipv4.tcp_wmem's third value, and the current size (sk_sndbuf).
    max_bytes: u64,
    bytes: u64,
    /// Packets written.
    written: u64,
}

impl SendBuffer {
    /// Create a buffer from net.ipv4.tcp_wmem's minimum, default and maximum in bytes.
    pub fn new(wmem: [u64; 3]) -> Self {
        let [_, default, max] = wmem;
        let mut buffer = Self { max_bytes: max, bytes: default, written: 0 };
        buffer.expand(INITIAL_WINDOW);
        buffer
    }

    /// Release all packets before `una`. Returns how many packets the application writes now. `window`: the
    /// congestion window. `has_room`: it is not full.
    pub fn refill(&mut self, una: u64, window: u32, has_room: bool) -> u64 {
        // Linux's tcp_new_space: the buffer follows the window unless the window limits the sender.
        if has_room {
            self.expand(window);
        }
        let holds = self.bytes.div_ceil(u64::from(SEGMENT_BYTES));
        // Linux's sk_stream_is_writeable: the writer wakes when a third of the buffer is free.
        if (self.written - una) * 3 > holds * 2 {
            return 0;
        }
        let packets = una + holds - self.written;
        self.written += packets;
        packets
    }

    /// Linux's tcp_sndbuf_expand: two windows, one to repair and one to send meanwhile.
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
