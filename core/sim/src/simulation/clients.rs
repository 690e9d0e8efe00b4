//! Loads that react to deliveries: requests, responses, and the reports of calls.

use leo_link::{NEVER, Nanos};
use leo_transport::HEADER_BYTES;
use leo_workload::Step;

use super::Simulation;
use crate::client::Client;
use crate::flow::{Load, Phase};
use crate::packet::{Head, Kind};
use crate::stack_flow::{Outgoing, StackFlow};

/// Bytes of a request on the wire.
const REQUEST_BYTES: u32 = leo_workload::REQUEST_BYTES + HEADER_BYTES;

impl Simulation {
    /// Return whether the simulation can be cloned: not with flows of other transports, such as QUIC stacks.
    pub fn copies(&self) -> bool {
        self.flows.iter().all(|flow| flow.stack().is_none())
    }

    /// Let the load of flow `index` do what is due.
    #[inline(never)]
    pub(super) fn run_load(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        match flow.load.as_deref_mut() {
            None | Some(Load::Datagrams(_)) => {}
            Some(Load::Stack(stack)) => {
                stack.run(self.now);
                self.send_answers(index);
            }
            Some(Load::Application(_)) => flow.write(self.now),
            Some(Load::Call(call)) => {
                if let Some(report) = call.take_report(self.now) {
                    let (seq, timestamp) = (report.arrivals, report.echo);
                    self.send_to_sender(index, Kind::Report, report.bytes, seq, timestamp);
                }
            }
            Some(Load::Connection(connection)) => {
                let again = connection.request_again(self.now, flow.sender.rtt().smoothed());
                let (client, is_due) = (connection.client as usize, connection.wakes <= self.now);
                if is_due {
                    connection.wakes = NEVER;
                }
                if std::mem::take(&mut connection.is_new) {
                    let Client { kind, since, .. } = &mut self.clients[client];
                    kind.on_open(connection.place, *since, self.now);
                }
                flow.write(self.now);
                if let Some(number) = again {
                    self.send_to_sender(index, Kind::Request, REQUEST_BYTES, number, self.now);
                }
                if is_due {
                    self.run_client(client);
                }
            }
        }
    }

    /// Tell the client of flow `index` which responses have arrived, or let the receiving end of another transport answer.
    #[inline(never)]
    pub(super) fn hear_client(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        let delivered = flow.receiver.delivered();
        let Some(connection) = flow.connection_mut() else { return self.send_answers(index) };
        let (client, place) = (connection.client as usize, connection.place);
        let mut has_arrived = false;
        while let Some(object) = connection.take_response(delivered) {
            self.clients[client].kind.on_response(place, object, self.now);
            has_arrived = true;
        }
        if has_arrived {
            self.run_client(client);
        }
    }

    /// Process a packet of a load that has reached the sender of its flow.
    #[cold]
    pub(super) fn serve(&mut self, packet: &Head) {
        let index = packet.flow as usize;
        let flow = &mut self.flows[index];
        match flow.load.as_deref_mut() {
            Some(Load::Connection(connection)) => {
                connection.on_request(packet.seq, self.now);
                flow.write(self.now);
                self.pump(index);
            }
            Some(Load::Call(call)) => call.on_report(self.now, packet.seq, packet.timestamp),
            Some(Load::Stack(stack)) => {
                let sample = stack.on_answer(self.now, packet);
                if let Some((rtt, base)) = sample {
                    flow.record_rtt(rtt, base);
                }
                self.pump(index);
                let flow = &mut self.flows[index];
                if flow.stack().is_some_and(StackFlow::is_complete) {
                    flow.complete(self.now);
                    self.note_change(index);
                }
            }
            _ => {}
        }
    }

    /// Send what the receiving end of another transport sends now.
    #[inline(never)]
    pub(super) fn send_answers(&mut self, index: usize) {
        let now = self.now;
        let path = self.flows[index].routes.path();
        while let Some(Load::Stack(stack)) = self.flows[index].load.as_deref_mut() {
            let Some(Outgoing { number, bytes, ecn }) = stack.answer(now) else { break };
            let head = Head::new(Kind::Report, bytes, index, path);
            self.send_back(Head { seq: number, timestamp: now, ecn, ..head }.into());
        }
        self.events.set_flow_earlier(index, self.flows[index].next_event());
    }

    /// Let a client do what is due.
    fn run_client(&mut self, client: usize) {
        while let Some(step) = self.clients[client].kind.poll(self.now) {
            let first = self.clients[client].first_flow;
            match step {
                Step::Open { connection } => self.open(first + connection),
                Step::Ask { connection, request } => {
                    let (index, now) = (first + connection, self.now);
                    let rtt = self.flows[index].sender.rtt().smoothed();
                    let Some(own) = self.flows[index].connection_mut() else { continue };
                    let number = own.request(request, now, rtt);
                    self.events.set_flow_earlier(index, self.flows[index].next_event());
                    self.send_to_sender(index, Kind::Request, REQUEST_BYTES, number, now);
                }
            }
        }
        let waiting = &self.clients[client];
        let (first, count, wakes) = (waiting.first_flow, waiting.connections, waiting.kind.next_event());
        if waiting.kind.is_done() {
            self.close(first..first + count);
        } else if let Some(connection) = self.flows[first].connection_mut() {
            connection.wakes = wakes;
            self.events.set_flow_earlier(first, wakes);
        }
    }

    /// Open the connection of flow `index`, which waits for this.
    fn open(&mut self, index: usize) {
        let now = self.now;
        let flow = &mut self.flows[index];
        if now < flow.stop {
            flow.start = now;
            flow.agent.iter_mut().for_each(|agent| agent.interval_start = now);
            self.events.set_flow(index, now);
        }
    }

    /// Close connections whose client needs nothing more.
    fn close(&mut self, flows: std::ops::Range<usize>) {
        for index in flows {
            if !matches!(self.flows[index].phase, Phase::Waiting | Phase::Stopped) {
                self.flows[index].complete(self.now);
                self.note_change(index);
            }
        }
    }

    fn send_to_sender(&mut self, index: usize, kind: Kind, bytes: u32, seq: u64, timestamp: Nanos) {
        let path = self.flows[index].routes.path();
        self.send_back(Head { seq, timestamp, ..Head::new(kind, bytes, index, path) }.into());
    }
}
