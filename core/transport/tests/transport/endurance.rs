//! A million round trips without loss, half a day, leave every counter exact.

use std::collections::VecDeque;

use leo_cc::{Context, Scheme};
use leo_transport::{AckToSend, Nanos, Receiver, Sender};

const MS: Nanos = 1_000_000;
const RTT: Nanos = 50 * MS;
const ROUND_TRIPS: u64 = 1_000_000;
/// Packets that the receiver allows ahead: bounds the packets of the test while the window grows.
const AHEAD: u64 = 2;

struct Path {
    sender: Sender,
    receiver: Receiver,
    now: Nanos,
    data: VecDeque<(Nanos, u64, Nanos)>,
    acks: VecDeque<(Nanos, AckToSend)>,
}

impl Path {
    fn new(scheme: &str) -> Self {
        let scheme = Scheme::by_name(scheme, &Context::default()).expect("it is a scheme");
        let mut sender = Sender::new(scheme, true);
        sender.allow(AHEAD);
        sender.start(0);
        let receiver = Receiver::new();
        Self { sender, receiver, now: 0, data: VecDeque::new(), acks: VecDeque::new() }
    }

    fn answer(&mut self, ack: Option<AckToSend>) {
        self.acks.extend(ack.map(|ack| (self.now + RTT / 2, ack)));
    }

    fn run(&mut self, until: Nanos) {
        while self.now < until {
            while let Some(transmit) = self.sender.transmit(self.now) {
                self.data.push_back((self.now + RTT / 2, transmit.seq, self.now));
            }
            let arrivals = [self.data.front().map(|data| data.0), self.acks.front().map(|ack| ack.0)];
            let timers = self.sender.next_timer().min(self.receiver.next_timer());
            self.now = arrivals.into_iter().flatten().fold(timers, Nanos::min);
            self.sender.on_timer(self.now);
            let delayed = self.receiver.on_timer(self.now);
            self.answer(delayed);
            if let Some(&(_, seq, timestamp)) = self.data.front().filter(|data| data.0 <= self.now) {
                self.data.pop_front();
                let ack = self.receiver.on_data(self.now, seq, timestamp, 0);
                self.answer(ack);
            }
            if let Some(&(_, ack)) = self.acks.front().filter(|ack| ack.0 <= self.now) {
                self.acks.pop_front();
                self.sender.on_ack(self.now, &ack);
                self.sender.allow(ack.cumulative + AHEAD);
            }
        }
    }
}

#[test]
fn a_million_round_trips_without_loss_leave_every_count_exact() {
    for scheme in ["cubic", "bbr3"] {
        let mut path = Path::new(scheme);
        path.run(ROUND_TRIPS * RTT);
        let stats = path.sender.stats();
        assert_eq!((stats.retransmitted, stats.lost, stats.timeouts, stats.undone), (0, 0, 0, 0), "{scheme}");
        let all = AHEAD * ROUND_TRIPS;
        assert_eq!(
            (stats.sent, path.sender.delivered(), path.receiver.delivered()),
            (all, all, all),
            "{scheme}"
        );
        let rtt = path.sender.rtt();
        assert_eq!((rtt.smoothed(), rtt.min(), rtt.latest()), (RTT, RTT, RTT), "{scheme}");
        // RFC 6298 with Linux's minimum for the deviation term.
        assert_eq!(rtt.timeout(), RTT + 200 * MS, "{scheme}");
        let interval = path.sender.take_interval();
        assert_eq!((interval.sent_packets, interval.delivered_packets), (all, all), "{scheme}");
        assert_eq!(interval.mean_rtt(), Some(RTT), "{scheme}");
    }
}
