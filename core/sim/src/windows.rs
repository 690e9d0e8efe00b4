//! Limited receive and send buffers of a flow, and how the sender learns the receive window.

use std::collections::VecDeque;

use leo_transport::{Nanos, SendBuffer, Sender};

/// The buffers of a flow. The window depends only on the ACK number because the application reads at once, so
/// it is stored here and not in every packet.
#[derive(Clone, Debug)]
pub struct Windows {
    /// Whether the receive buffer is limited.
    announces: bool,
    /// ACK numbers in flight and the window edges that they announce.
    announced: VecDeque<(u64, u64)>,
    send: Option<SendBuffer>,
}

impl Windows {
    pub fn new(announces: bool, send: Option<SendBuffer>) -> Self {
        Self { announces, announced: VecDeque::new(), send }
    }

    /// Open the connection with a window up to `edge`; the application starts to write.
    pub fn open(&mut self, sender: &mut Sender, now: Nanos, edge: u64) {
        if self.announces {
            sender.allow(edge);
        }
        self.refill(sender, now);
    }

    /// Record an ACK of everything before `cumulative` that leaves the receiver with a window up to `edge`.
    pub fn announce(&mut self, cumulative: u64, edge: u64) {
        if !self.announces {
            return;
        }
        match self.announced.back_mut() {
            Some((last, announced)) if *last >= cumulative => *announced = edge,
            _ => self.announced.push_back((cumulative, edge)),
        }
    }

    /// Update the window after the sender has processed an ACK of everything before `cumulative`.
    pub fn on_ack(&mut self, sender: &mut Sender, now: Nanos, cumulative: u64) {
        let mut edge = 0;
        while let Some(&(number, announced)) = self.announced.front() {
            if number > cumulative {
                break;
            }
            edge = announced;
            if number == cumulative {
                // Later ACKs with this number announce the same edge.
                break;
            }
            self.announced.pop_front();
        }
        if edge > 0 {
            sender.allow(edge);
        }
        self.refill(sender, now);
    }

    fn refill(&mut self, sender: &mut Sender, now: Nanos) {
        let Some(send) = &mut self.send else { return };
        let has_room = sender.in_flight() < sender.window();
        let packets = send.refill(sender.una(), sender.window(), has_room);
        if packets > 0 {
            sender.write(now, packets);
        }
    }
}
