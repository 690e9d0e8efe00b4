//! The receive and send buffers of a flow that has them limited, and how the sender learns of the window.

use std::collections::VecDeque;

use leo_transport::{Nanos, ReceiveWindow, SendBuffer, Sender};

/// Buffers of one flow. Acknowledgements say how far the sender may go; what they say depends on their number alone, for
/// the application reads at once: it is kept here and not in every packet.
#[derive(Clone, Debug)]
pub struct Windows {
    receive: Option<ReceiveWindow>,
    /// Numbers of acknowledgements under way, and the edges that they announce.
    announced: VecDeque<(u64, u64)>,
    send: Option<SendBuffer>,
}

impl Windows {
    pub fn new(receive: Option<ReceiveWindow>, send: Option<SendBuffer>) -> Self {
        Self { receive, announced: VecDeque::new(), send }
    }

    /// The connection is there: what is known of the window, and what the application writes first.
    pub fn open(&mut self, sender: &mut Sender, now: Nanos) {
        if let Some(receive) = &self.receive {
            sender.allow(receive.edge());
        }
        self.refill(sender, now);
    }

    /// Data has arrived; the application has read all before `next`.
    pub fn on_data(&mut self, now: Nanos, next: u64, rtt: Nanos) {
        if let Some(receive) = &mut self.receive {
            receive.on_data(now, next, rtt);
        }
    }

    /// An acknowledgement of everything before `cumulative` leaves the receiver.
    pub fn announce(&mut self, cumulative: u64) {
        let Some(receive) = &self.receive else { return };
        match self.announced.back_mut() {
            Some((last, edge)) if *last >= cumulative => *edge = receive.edge(),
            _ => self.announced.push_back((cumulative, receive.edge())),
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
