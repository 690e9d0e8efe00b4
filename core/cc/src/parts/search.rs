//! SEARCH (draft-chung-ccwg-search-10): slow start ends when deliveries fall behind the packets sent a round trip earlier.

use crate::parts::window::Window;
use crate::{Ack, INITIAL_WINDOW, Nanos};

/// The draft's parameters: a window of 3.5 initial RTTs in 10 bins (WINDOW_SIZE and W), 15 more to look back an RTT
/// (EXTRA_BINS), and a normalised difference of 0.26 (THRESH).
const WINDOW_PERCENT: Nanos = 350;
const W: u64 = 10;
const EXTRA_BINS: u64 = 15;
const THRESHOLD_PERCENT: u64 = 26;
const DELIVERED_BINS: usize = W as usize + 1;
const SENT_BINS: usize = DELIVERED_BINS + EXTRA_BINS as usize;
/// While the queue drains, a packet leaves for this many delivered. The draft leaves the number open.
const DRAIN: u32 = 2;

/// Packets sent and delivered until the end of each bin, counted from the connection's start.
#[derive(Clone, Debug, Default)]
pub struct Search {
    delivered: [u64; DELIVERED_BINS],
    sent: [u64; SENT_BINS],
    /// The current bin, its end, and the bins' duration; 0 before the first RTT.
    bin: u64,
    bin_end: Nanos,
    duration: Nanos,
    /// The window to drain to, once slow start has found the capacity, and packets delivered since the last one left.
    target: Option<u32>,
    drained: u32,
}

impl Search {
    /// Restart after a timeout.
    pub fn reset(&mut self) {
        *self = Self::default();
    }

    /// Process an ACK in slow start. Return whether the window may grow by it.
    pub fn on_ack(&mut self, window: &mut Window, ack: &Ack) -> bool {
        if self.target.is_none() && self.exits(ack) {
            self.target = Some(self.delivered_in_a_round_trip());
        }
        if let Some(target) = self.target {
            self.drain(window, ack, target);
        }
        self.target.is_none()
    }

    /// The drain phase: the window follows the packets in flight down to the target, where slow start is over.
    fn drain(&mut self, window: &mut Window, ack: &Ack, target: u32) {
        self.drained += ack.delivered;
        let leave = self.drained / DRAIN;
        self.drained %= DRAIN;
        window.packets = ack.in_flight.saturating_add(leave).min(window.packets).max(target);
        if window.packets == target {
            window.threshold = target;
        }
    }

    /// The path's capacity in packets: the deliveries of the last initial RTT, rounded up to whole bins.
    fn delivered_in_a_round_trip(&self) -> u32 {
        let bins = (W * 100).div_ceil(WINDOW_PERCENT);
        let packets = self.delivered_over(self.bin - bins, self.bin);
        u32::try_from(packets).unwrap_or(u32::MAX).max(INITIAL_WINDOW)
    }

    /// Return whether slow start should end.
    fn exits(&mut self, ack: &Ack) -> bool {
        let Some(rtt) = ack.rtt.filter(|&rtt| rtt > 0) else { return false };
        if self.duration == 0 {
            self.duration = (rtt * WINDOW_PERCENT / 100 / W).max(1);
            self.bin_end = ack.now + self.duration;
            self.record(ack);
            return false;
        }
        if ack.now < self.bin_end {
            return false;
        }
        let passed = (ack.now - self.bin_end) / self.duration + 1;
        if passed > W {
            // The draft's option for missed bins: discard bins older than a window.
            self.reset();
            return false;
        }
        let (delivered, sent) =
            (self.delivered[at(self.bin, DELIVERED_BINS)], self.sent[at(self.bin, SENT_BINS)]);
        for bin in self.bin + 1..self.bin + passed {
            self.delivered[at(bin, DELIVERED_BINS)] = delivered;
            self.sent[at(bin, SENT_BINS)] = sent;
        }
        self.bin += passed;
        self.bin_end += passed * self.duration;
        self.record(ack);
        let back = rtt / self.duration;
        // With a longer RTT, or sooner, there is no window of sent packets to compare with.
        if back >= EXTRA_BINS || self.bin <= back + W {
            return false;
        }
        let sent = self.sent_over(self.bin - back - W, self.bin - back, rtt % self.duration);
        let delivered = self.delivered_over(self.bin - W, self.bin);
        // norm_diff = (prev_sent - curr_delv) / prev_sent
        sent > 0 && sent.saturating_sub(delivered) * 100 >= THRESHOLD_PERCENT * sent
    }

    fn record(&mut self, ack: &Ack) {
        self.delivered[at(self.bin, DELIVERED_BINS)] = ack.total_delivered;
        self.sent[at(self.bin, SENT_BINS)] = ack.total_sent;
    }

    fn delivered_over(&self, old: u64, new: u64) -> u64 {
        self.delivered[at(new, DELIVERED_BINS)].saturating_sub(self.delivered[at(old, DELIVERED_BINS)])
    }

    /// Packets sent between the ends of two bins, both `earlier` by less than a bin: interpolated with the bins before.
    fn sent_over(&self, old: u64, new: u64, earlier: Nanos) -> u64 {
        let between = |old: u64, new: u64| {
            u128::from(self.sent[at(new, SENT_BINS)].saturating_sub(self.sent[at(old, SENT_BINS)]))
        };
        let later = u128::from(self.duration - earlier);
        let sum = between(old - 1, new - 1) * u128::from(earlier) + between(old, new) * later;
        (sum / u128::from(self.duration)) as u64
    }
}

const fn at(bin: u64, bins: usize) -> usize {
    (bin % bins as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MILLISECOND;
    use crate::testing::ack_of_one;

    const RTT: Nanos = 100 * MILLISECOND;

    /// The draft's equations over a full record of ACKs: everything sent and delivered by any time, without bins' arrays.
    fn reference(acks: &[Ack]) -> Option<usize> {
        let duration = acks[0].rtt? * WINDOW_PERCENT / 100 / W;
        let first = acks[0].now;
        // The state at the end of a bin is that of the first ACK at or after it.
        let mut ends: Vec<(u64, u64)> = vec![(acks[0].total_delivered, acks[0].total_sent)];
        for (index, ack) in acks.iter().enumerate().skip(1) {
            let bin = ((ack.now - first) / duration) as usize;
            if bin < ends.len() {
                continue;
            }
            while ends.len() < bin {
                ends.push(*ends.last()?);
            }
            ends.push((ack.total_delivered, ack.total_sent));
            let rtt = ack.rtt? as f64 / duration as f64;
            let (back, part) = (rtt as usize, rtt.fract());
            let w = W as usize;
            if back >= EXTRA_BINS as usize || bin <= back + w {
                continue;
            }
            let delivered = (ends[bin].0 - ends[bin - w].0) as f64;
            let sent_by = |bin: usize| ends[bin].1 as f64 * (1.0 - part) + ends[bin - 1].1 as f64 * part;
            let sent = (sent_by(bin - back) - sent_by(bin - back - w)).floor();
            if (sent - delivered) * 100.0 >= THRESHOLD_PERCENT as f64 * sent {
                return Some(index);
            }
        }
        None
    }

    /// ACKs of slow start over a path that carries `rate` packets an RTT and has a queue without end.
    fn acks(rate: u64, rounds: u32) -> Vec<Ack> {
        let (mut acks, mut sent, mut delivered, mut free_at) = (Vec::new(), 10, 0, RTT);
        let mut flight: std::collections::VecDeque<Nanos> = (0..10).map(|_| 0).collect();
        while let Some(sent_at) = flight.pop_front() {
            free_at = (sent_at + RTT).max(free_at + RTT / rate);
            let now = free_at;
            if now > RTT * Nanos::from(rounds) {
                break;
            }
            delivered += 1;
            sent += 2;
            flight.extend([now, now]);
            acks.push(Ack {
                rtt: Some(now - sent_at),
                total_delivered: delivered,
                total_sent: sent - 2,
                in_flight: flight.len() as u32,
                ..ack_of_one(now)
            });
        }
        acks
    }

    #[test]
    fn it_ends_slow_start_at_the_ack_that_the_equations_name() {
        for rate in [50, 200, 777, 3_000] {
            let acks = acks(rate, 14);
            let mut search = Search::default();
            let exit = acks.iter().position(|ack| search.exits(ack));
            assert_eq!(exit, reference(&acks), "{rate}");
            assert!(exit.is_some(), "{rate}: {} ACKs", acks.len());
        }
    }

    #[test]
    fn when_it_finds_the_capacity_a_queue_of_some_four_round_trips_has_grown() {
        // While the queue grows, the path has delivered exactly the packets sent a current RTT ago. So the equations
        // measure only the growth of the RTT within their window. In a fluid, 26 % corresponds to 4.3 queued RTTs. Bins of
        // 0.35 RTTs move it a little.
        for rate in [200, 777, 3_000] {
            let acks = acks(rate, 14);
            let mut search = Search::default();
            let exit = acks.iter().find(|ack| search.exits(ack)).expect("it ends slow start");
            let queued = f64::from(exit.in_flight) / rate as f64 - 1.0;
            assert!((3.9..4.8).contains(&queued), "{rate}: {queued}");
        }
    }

    #[test]
    fn it_drains_to_what_the_path_delivers_in_a_round_trip() {
        // "drain built-up queueing": the target is three bins, 1.05 RTTs, of deliveries.
        let acks = acks(200, 14);
        let mut search = Search::default();
        let mut window = Window::new();
        let mut in_flight = 0;
        for ack in &acks {
            if !search.on_ack(&mut window, ack) {
                in_flight = ack.in_flight;
                break;
            }
            window.slow_start(1);
        }
        assert!(window.in_slow_start() && window.packets > 400, "{window:?}");
        let mut delivered = acks.last().map_or(0, |ack| ack.total_delivered);
        while window.in_slow_start() {
            in_flight -= 1;
            delivered += 1;
            let ack = Ack { in_flight, total_delivered: delivered, rtt: Some(RTT), ..ack_of_one(20 * RTT) };
            search.on_ack(&mut window, &ack);
            in_flight = in_flight.max(window.packets);
        }
        assert!((200..=215).contains(&window.packets), "{window:?}");
        assert_eq!(window.threshold, window.packets);
    }

    #[test]
    fn while_deliveries_double_slow_start_goes_on_and_silence_makes_it_begin_anew() {
        let mut search = Search::default();
        let acks = acks(1_000_000, 8);
        assert!(acks.iter().all(|ack| !search.exits(ack)));
        assert!(search.bin > W);
        // More than a window of silence.
        search.exits(&Ack { rtt: Some(RTT), ..ack_of_one(20 * RTT) });
        assert_eq!((search.bin, search.duration), (0, 0));
    }
}
