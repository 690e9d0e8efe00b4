//! What gives a flow data to send, if it is not backlogged or a transfer.

use leo_link::{NEVER, Nanos};
use leo_workload::Call;

use super::Flow;
use crate::client::Connection;
use crate::ecn::Ecn;
use crate::packet::Head;
use crate::source::Source;
use crate::stack_flow::{Outgoing, StackFlow};

/// The source of a flow's data.
#[derive(Clone, Debug)]
pub enum Load {
    /// UDP. The sender stays closed.
    Datagrams(Source),
    /// A call over UDP. The sender stays closed.
    Call(Box<Call>),
    /// An application that writes at a rate to TCP.
    Application(Source),
    /// A server that answers the requests of a client.
    Connection(Connection),
    /// Both ends of another transport. The sender stays closed.
    Stack(Box<StackFlow>),
}

impl Load {
    /// Begin after the connection is open.
    pub fn start(&mut self, now: Nanos) {
        match self {
            Self::Datagrams(source) | Self::Application(source) => source.start(now),
            Self::Call(call) => call.start(now),
            Self::Connection(connection) => connection.open(now),
            Self::Stack(stack) => stack.start(now),
        }
    }

    pub const fn is_datagrams(&self) -> bool {
        matches!(self, Self::Datagrams(_) | Self::Call(_) | Self::Stack(_))
    }

    /// Return when it next sends, writes or requests something.
    pub fn next_event(&self) -> Nanos {
        match self {
            Self::Datagrams(source) | Self::Application(source) => source.next_packet(),
            Self::Call(call) => call.next_event(),
            Self::Connection(connection) => connection.next_event(),
            Self::Stack(stack) => stack.next_event(),
        }
    }

    /// Return the next datagram if one is due at `now`. Call until `None`.
    pub fn take(&mut self, now: Nanos) -> Option<Outgoing> {
        let (number, bytes) = match self {
            Self::Datagrams(source) => source.take(now).then(|| (source.sent(), leo_transport::PACKET_BYTES)),
            Self::Call(call) => call.take(now).map(|bytes| (call.sent(), bytes)),
            Self::Application(_) | Self::Connection(_) => None,
            Self::Stack(stack) => return stack.send(now),
        }?;
        Some(Outgoing { number, bytes, ecn: Ecn::default() })
    }

    /// Process a packet that arrives; return whether it is a datagram.
    pub fn take_datagram(&mut self, packet: &Head, now: Nanos) -> bool {
        match self {
            Self::Datagrams(source) => source.on_received(),
            Self::Call(call) => call.on_packet(now, packet.seq, packet.timestamp, u32::from(packet.bytes)),
            Self::Stack(stack) => stack.on_data(now, packet),
            Self::Application(_) | Self::Connection(_) => return false,
        }
        true
    }

    /// Return the datagrams sent and received, and the payload bytes received; `None` for TCP.
    pub fn datagrams(&self) -> Option<[u64; 3]> {
        match self {
            Self::Datagrams(source) => {
                let payload = source.received() * leo_transport::SEGMENT_BYTES as u64;
                Some([source.sent(), source.received(), payload])
            }
            Self::Call(call) => Some([call.sent(), call.received(), call.received_bytes()]),
            Self::Stack(stack) => Some(stack.totals()),
            Self::Application(_) | Self::Connection(_) => None,
        }
    }
}

impl Flow {
    /// Give the flow its data.
    pub fn loaded(mut self, load: Load) -> Self {
        if load.is_datagrams() {
            self.sender.close();
        } else {
            self.sender = self.sender.with_application();
        }
        if let Load::Stack(stack) = &load {
            self.transfer_bytes = stack.transfer_bytes;
        }
        self.load = Some(Box::new(load));
        self
    }

    /// Return the ends of another transport, if the flow has these.
    pub fn stack(&self) -> Option<&StackFlow> {
        match self.load.as_deref() {
            Some(Load::Stack(stack)) => Some(stack),
            _ => None,
        }
    }

    pub fn sends_datagrams(&self) -> bool {
        self.load.as_ref().is_some_and(|load| load.is_datagrams())
    }

    /// Return the congestion window and the flight in packets.
    pub fn window_and_flight(&self, now: Nanos) -> (u32, u32) {
        if let Some(stack) = self.stack() {
            return stack.window_and_flight();
        }
        let window = self.oracle.as_ref().map_or(self.sender.window(), |oracle| oracle.window(now));
        (window, self.sender.in_flight())
    }

    /// Return the bytes of so many packets of the flow on the wire.
    pub fn wire_bytes(&self, packets: u64) -> u64 {
        match self.stack() {
            Some(stack) => stack.wire_bytes(packets),
            None => packets * u64::from(leo_transport::PACKET_BYTES),
        }
    }

    pub fn connection_mut(&mut self) -> Option<&mut Connection> {
        match self.load.as_deref_mut() {
            Some(Load::Connection(connection)) => Some(connection),
            _ => None,
        }
    }

    /// Let the application write.
    pub fn write(&mut self, now: Nanos) {
        match self.load.as_deref_mut() {
            Some(Load::Application(source)) => {
                while source.take(now) {
                    self.sender.write(now, 1);
                }
            }
            Some(Load::Connection(connection)) => {
                while let Some(packets) = connection.respond(now) {
                    self.sender.write(now, packets);
                }
            }
            _ => {}
        }
    }

    /// Return when the load next does something; a flow without one never does.
    pub fn next_of_load(&self) -> Nanos {
        self.load.as_ref().map_or(NEVER, |load| load.next_event())
    }
}
