//! A sender and a receiver joined by a pipe whose effect on each packet the test decides.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use leo_cc::{CongestionControl, External, Scheme};
use leo_transport::{
    AccurateFeedback, AckToSend, EcnMode, NEVER, Nanos, ReceiveWindow, Receiver, SEGMENT_BYTES, SendBuffer,
    Sender,
};

pub const MS: Nanos = 1_000_000;
/// Linux's TCP_RTO_MAX; RFC 6298 §2.5 allows such a bound.
const TIMEOUT_MAX: Nanos = 120_000 * MS;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    pub at: Nanos,
    pub seq: u64,
    /// 1 for the original, 2 for its first retransmission, …
    pub transmission: u32,
}

/// One-way delay of each copy that arrives: none for a loss, two for a duplicate.
pub type Fate = Vec<Nanos>;

pub struct Pipe {
    pub sender: Sender,
    pub receiver: Receiver,
    pub now: Nanos,
    pub sent: Vec<Sent>,
    pub rtts: Vec<Nanos>,
    /// Transmission time of a packet, behind an unlimited queue.
    pub serialisation: Nanos,
    free_at: Nanos,
    transmissions: BTreeMap<u64, u32>,
    data: Box<dyn FnMut(Sent) -> Fate>,
    pub marks: Box<dyn FnMut(Sent) -> bool>,
    /// Packets that carried CWR.
    pub reported: Vec<Sent>,
    /// Whether the receiver announces its window; see [`Pipe::limit`].
    limited: bool,
    /// Latest receiver timestamp that the sender knows.
    echo_ms: u32,
    /// The application's limited send buffer; the sender must be created to match.
    pub send_buffer: Option<SendBuffer>,
    back: Box<dyn FnMut(Nanos) -> Fate>,
    /// ACKs sent, each with the window edge that it announces.
    acks: Vec<(AckToSend, Option<u64>)>,
    /// The feedback of these ACKs with accurate ECN, and the receiver's counters then: packets and bytes with CE.
    pub feedback: Vec<(AccurateFeedback, [u64; 2])>,
    /// Indices of the ACKs that have arrived.
    pub arrived: Vec<usize>,
    /// Whether data carry PSH where Linux's do.
    pub pushes: bool,
    /// Whether the path removes the AccECN option.
    pub strips_options: bool,
    events: BinaryHeap<Reverse<(Nanos, u64, Event)>>,
    order: u64,
    /// Timeouts since the cumulative ACK last advanced.
    silence: u32,
    /// Deadline for a sending, a delivery or a timeout.
    patience_ends: Nanos,
    activity: (u64, u64, u64),
    una: u64,
    timeouts: u64,
    started: bool,
}

/// Events at equal times run in the order of scheduling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Data { seq: u64, timestamp: Nanos, echo_ms: u32, answered: bool, marked: bool, pushes: bool },
    Ack(usize),
}

impl Pipe {
    /// `data` decides the fate of each packet, `back` that of each ACK, when it is sent.
    pub fn new(
        scheme: Scheme,
        data: impl FnMut(Sent) -> Fate + 'static,
        back: impl FnMut(Nanos) -> Fate + 'static,
    ) -> Self {
        Self::of(Sender::new(scheme, true), data, back)
    }

    pub fn of(
        sender: Sender,
        data: impl FnMut(Sent) -> Fate + 'static,
        back: impl FnMut(Nanos) -> Fate + 'static,
    ) -> Self {
        Self {
            sender,
            receiver: Receiver::new(),
            now: 0,
            sent: Vec::new(),
            rtts: Vec::new(),
            serialisation: 0,
            free_at: 0,
            transmissions: BTreeMap::new(),
            data: Box::new(data),
            marks: Box::new(|_| false),
            reported: Vec::new(),
            limited: false,
            echo_ms: 0,
            send_buffer: None,
            back: Box::new(back),
            acks: Vec::new(),
            feedback: Vec::new(),
            arrived: Vec::new(),
            pushes: false,
            strips_options: false,
            events: BinaryHeap::new(),
            order: 0,
            silence: 0,
            patience_ends: NEVER,
            activity: (0, 0, 0),
            una: 0,
            timeouts: 0,
            started: false,
        }
    }

    /// Let the receiver announce `window`. Call before the first packet.
    pub fn limit(&mut self, window: ReceiveWindow) {
        self.receiver = Receiver::with_window(window);
        self.limited = true;
    }

    /// Let both ends use accurate ECN. Call before the first packet.
    pub fn use_accurate_ecn(&mut self) {
        self.sender.use_ecn(EcnMode::Accurate);
        self.receiver.use_accurate_ecn();
    }

    /// Run until `until`, checking the invariants after each event.
    pub fn run(&mut self, until: Nanos) {
        if !self.started {
            self.started = true;
            self.sender.start(self.now);
            if self.limited {
                self.sender.allow(self.receiver.edge());
            }
            self.refill();
        }
        self.pump();
        loop {
            let event = self.events.peek().map_or(NEVER, |Reverse(event)| event.0);
            let next = event.min(self.sender.next_timer()).min(self.receiver.next_timer());
            if next > until {
                self.now = until;
                return;
            }
            assert!(next >= self.now, "time runs backwards");
            self.now = next;
            let due = if event == next { self.events.pop() } else { None };
            if let Some(Reverse((_, _, event))) = due {
                self.arrive(event);
            } else {
                let ack = self.receiver.on_timer(self.now);
                self.answer(ack);
                self.sender.on_timer(self.now);
                self.pump();
                assert!(self.sender.next_timer() > self.now, "a timer that does not move fires for ever");
            }
            self.pump();
            self.check();
        }
    }

    /// Run in steps while `goes_on`.
    pub fn run_while(&mut self, step: Nanos, goes_on: impl Fn(&Self) -> bool) {
        while goes_on(self) {
            self.run(self.now + step);
        }
    }

    /// Run to the first reduction of the window, and return the window before it.
    pub fn run_to_reduction(&mut self) -> u32 {
        let mut before = 0;
        while self.sender.scheme().slow_start_threshold() == u32::MAX {
            before = self.sender.scheme().window();
            self.run(self.now + MS);
        }
        before
    }

    /// First packet whose in-order arrival the sender does not know of.
    pub fn una(&self) -> u64 {
        self.next() - u64::from(self.sender.packets_out())
    }

    pub fn next(&self) -> u64 {
        self.sender.stats().sent - self.sender.stats().retransmitted
    }

    pub fn transmissions_of(&self, seq: u64) -> Vec<Nanos> {
        self.sent.iter().filter(|sent| sent.seq == seq).map(|sent| sent.at).collect()
    }

    fn arrive(&mut self, event: Event) {
        match event {
            Event::Data { seq, timestamp, echo_ms, answered, marked, pushes } => {
                if pushes {
                    self.receiver.on_push();
                }
                if self.receiver.ecn_counters().is_some() {
                    self.receiver.on_ecn_bits(if marked { 0b11 } else { 0b01 }, SEGMENT_BYTES);
                } else if answered || marked {
                    self.receiver.on_ecn(answered, marked);
                }
                let ack = self.receiver.on_data(self.now, seq, timestamp, echo_ms);
                self.answer(ack);
            }
            Event::Ack(index) => {
                let (ack, edge) = &self.acks[index];
                self.echo_ms = self.echo_ms.max(ack.left_ms);
                if let Some((feedback, _)) = self.feedback.get(index) {
                    let option = if self.strips_options { Default::default() } else { feedback.option };
                    self.sender.hear(AccurateFeedback { option, ..*feedback });
                    self.arrived.push(index);
                }
                let rtt = self.sender.on_ack(self.now, ack);
                self.rtts.extend(rtt);
                if let Some(edge) = *edge {
                    self.sender.allow(edge);
                }
                self.refill();
            }
        }
    }

    fn refill(&mut self) {
        let (una, has_room) = (self.sender.una(), self.sender.in_flight() < self.sender.window());
        if let Some(buffer) = &mut self.send_buffer {
            let packets = buffer.refill(una, self.sender.window(), has_room);
            self.sender.write(self.now, packets);
        }
    }

    fn answer(&mut self, ack: Option<AckToSend>) {
        let Some(ack) = ack else { return };
        if let Some(feedback) = self.receiver.feedback(&ack.sacks) {
            let counters = self.receiver.ecn_counters();
            let counters = counters.map(|truth| [truth.marked_packets(), truth.payload_bytes(0b11)]);
            self.feedback.push((feedback, counters.unwrap_or_default()));
        }
        self.acks.push((ack, self.limited.then(|| self.receiver.edge())));
        for delay in (self.back)(self.now) {
            self.schedule(self.now + delay, Event::Ack(self.acks.len() - 1));
        }
    }

    fn pump(&mut self) {
        while let Some(transmit) = self.sender.transmit(self.now) {
            let count = self.transmissions.entry(transmit.seq).or_default();
            *count += 1;
            assert_eq!(transmit.retransmission, *count > 1, "{transmit:?}");
            let sent = Sent { at: self.now, seq: transmit.seq, transmission: *count };
            self.sent.push(sent);
            self.free_at = self.free_at.max(self.now) + self.serialisation;
            let answered = !transmit.retransmission && self.sender.take_report();
            if answered {
                self.reported.push(sent);
            }
            // Linux: retransmissions are not ECN-capable.
            let marked = !transmit.retransmission && (self.marks)(sent);
            for delay in (self.data)(sent) {
                let (seq, timestamp, echo_ms) = (sent.seq, self.now, self.echo_ms);
                let pushes = self.pushes && transmit.pushes;
                let data = Event::Data { seq, timestamp, echo_ms, answered, marked, pushes };
                self.schedule(self.free_at + delay, data);
            }
        }
    }

    fn schedule(&mut self, at: Nanos, event: Event) {
        self.order += 1;
        self.events.push(Reverse((at, self.order, event)));
    }

    fn check(&mut self) {
        let sender = &self.sender;
        let stats = sender.stats();
        assert_eq!(stats.sent, self.sent.len() as u64);
        let una = self.una();
        assert!(
            una >= self.una && una <= self.receiver.delivered() && self.receiver.delivered() <= self.next()
        );
        // An underflow of a scoreboard count would show here.
        assert!(sender.retransmissions_out() <= sender.packets_out(), "{stats:?}");
        assert!(sender.in_flight() <= sender.packets_out() + sender.retransmissions_out(), "{stats:?}");
        assert!(sender.delivered() <= self.next() && sender.delivered() >= una);
        assert!(sender.window() >= 1);
        if una > self.una {
            self.silence = 0;
        } else {
            self.silence += (stats.timeouts - self.timeouts) as u32;
        }
        (self.una, self.timeouts) = (una, stats.timeouts);
        // RFC 6298 §5: a timer runs while anything is outstanding, doubled per expiry (5.5).
        let timeout = (sender.rtt().timeout() << self.silence.min(16)).min(TIMEOUT_MAX);
        let stalled = !sender.is_finished() && sender.next_timer() > self.now + timeout;
        assert!(!stalled, "stalled at {} ms: {stats:?}", self.now / MS);
        // The timer must also have an effect. A loss probe (RFC 8985 §7.3) comes before a timeout.
        let activity = (stats.sent, sender.delivered(), stats.timeouts);
        if activity == self.activity {
            let ends = self.patience_ends;
            assert!(self.now <= ends, "silent until {} ms, past {} ms: {stats:?}", self.now / MS, ends / MS);
        }
        if activity != self.activity || sender.packets_out() == 0 {
            self.patience_ends = if sender.packets_out() > 0 { self.now + timeout } else { NEVER };
        }
        self.activity = activity;
        // With data and a window, something is in flight unless pacing holds it back.
        let waits = sender.scheme().pacing_rate().is_some();
        assert!(sender.packets_out() > 0 || waits || sender.is_finished(), "{stats:?}");
    }
}

/// A fixed window, to isolate loss detection.
pub fn fixed_window(packets: u32) -> Scheme {
    let mut external = External::new();
    external.command(packets, 0);
    Scheme::external(external)
}
