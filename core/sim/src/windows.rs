//! The receive and send buffers of a flow that has them limited, and how the sender learns of the window.

use std::collections::VecDeque;

use leo_transport::{Nanos, SendBuffer, Sender};

/// Buffers of one flow. Acknowledgements say how far the sender may go; what they say depends on their number alone, for
/// the application reads at once: it is kept here and not in every packet.
#[derive(Clone, Debug)]
pub struct Windows {
    /// The receiver's is limited.
    announces: bool,
    /// Numbers of acknowledgements under way, and the edges that they announce.
    announced: VecDeque<(u64, u64)>,
    send: Option<SendBuffer>,
}

impl Windows {
    pub fn new(announces: bool, send: Option<SendBuffer>) -> Self {
        Self { announces, announced: VecDeque::new(), send }
    }

    /// The connection is there: the window reaches to `edge`, and the application writes its first.
    pub fn open(&mut self, sender: &mut Sender, now: Nanos, edge: u64) {
        if self.announces {
            sender.allow(edge);
        }
        self.refill(sender, now);
    }

    /// An acknowledgement of everything before `cumulative`, with a window up to `edge`, leaves the receiver.
    pub fn announce(&mut self, cumulative: u64, edge: u64) {
        if !self.announces {
            return;
        }
        match self.announced.back_mut() {
            Some((last, announced)) if *last >= cumulative => *announced = edge,
            _ => self.announced.push_back((cumulative, edge)),
        }
    }

    /// An acknowledgement of everything before `cumulative` has been taken in by the sender.
    pub fn on_ack(&mut self, sender: &mut Sender, now: Nanos, cumulative: u64) {
        let mut edge = 0;
        while let Some(&(number, announced)) = self.announced.front()
            && number <= cumulative
        {
            edge = announced;
            if number == cumulative {
                // Others with this number may follow, but tell nothing else.
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
