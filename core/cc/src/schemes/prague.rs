//! Prague (draft-briscoe-iccrg-prague-congestion-control-04): DCTCP's response to the extent of marking, fit for the Internet.

use crate::{
    Ack, Congestion, CongestionControl, EcnMode, INITIAL_WINDOW, MILLISECOND, NANOS_PER_S, Nanos, Recovery,
    SEGMENT_BYTES,
};

/// §2.3.2: "g is the gain of the EWMA (default 1/16)".
const GAIN: f64 = 1.0 / 16.0;
/// §2.4.4: "The current default is RTT_ref = max(RTT, 25ms)".
const REFERENCE_RTT: Nanos = 25 * MILLISECOND;
/// §2.4.4: "only comes into effect after D rounds, where D is configurable (current default 500)".
const ROUNDS_UNTIL_FAIR: u32 = 500;
/// Linux's MIN_CWND; a timeout takes the window to one packet.
const WINDOW_MIN: f64 = 2.0;

/// A window with a fraction, in packets, that shrinks in proportion to the share of marked packets.
#[derive(Clone, Debug)]
pub struct Prague {
    /// Whether the receiver reports every mark. §2.3.1.1: otherwise "the sender MUST fall back to a Reno-friendly CC".
    accurate: bool,
    window: f64,
    threshold: f64,
    srtt: Nanos,
    /// The moving average of the share of marked packets. §2.3.2; it stays 1 until the first mark.
    alpha: f64,
    has_seen_mark: bool,
    round: Round,
    /// Rounds since slow start ended.
    rounds: u32,
    reduced: Option<Reduced>,
    /// Losses are being repaired.
    is_losing: bool,
    /// Window and threshold before a loss.
    prior: (f64, f64),
}

/// A round trip, over which the share of marks is measured.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    began: Nanos,
    /// Sequence number of the first packet sent in it.
    first: u64,
    delivered: u64,
    marked: u64,
}

/// The last reduction for marks.
#[derive(Clone, Copy, Debug)]
struct Reduced {
    at: Nanos,
    /// Sequence number of the first packet sent after it.
    until: u64,
    /// The window before it.
    before: f64,
}

impl Prague {
    pub const fn new() -> Self {
        Self {
            accurate: true,
            window: INITIAL_WINDOW as f64,
            threshold: f64::INFINITY,
            srtt: 0,
            alpha: 1.0,
            has_seen_mark: false,
            round: Round { began: 0, first: 0, delivered: 0, marked: 0 },
            rounds: 0,
            reduced: None,
            is_losing: false,
            prior: (0.0, f64::INFINITY),
        }
    }

    fn is_in_slow_start(&self) -> bool {
        self.window < self.threshold
    }

    /// Whether rates, not windows, shall become equal (§2.4.4).
    fn reduces_rtt_dependence(&self) -> bool {
        !self.is_in_slow_start() && self.rounds >= ROUNDS_UNTIL_FAIR
    }

    /// The virtual RTT: "the window update period; the EWMA update period; and the duration of CWR state" (§2.4.4).
    fn virtual_rtt(&self) -> Nanos {
        if self.reduces_rtt_dependence() { self.srtt.max(REFERENCE_RTT) } else { self.srtt }
    }

    /// §2.4.4: "the increase in cwnd per packet has to be (1/M^2) * (1/cwnd)", with M = RTT_ref / RTT.
    fn increase_per_round(&self) -> f64 {
        let share = self.srtt as f64 / self.virtual_rtt().max(1) as f64;
        if self.srtt == 0 { 1.0 } else { share * share }
    }

    /// §2.4.3: "a Prague CC applies additive increase irrespective of its CWR state, but only for bytes that have been ACK'd
    /// without ECN feedback".
    fn grow(&mut self, ack: &Ack) {
        let unmarked = f64::from(ack.delivered.saturating_sub(ack.marked));
        let mut remaining = unmarked;
        if self.is_in_slow_start() {
            // §2.4.5: "the standard Linux slow start code".
            let grown = (self.window + unmarked).min(self.threshold);
            remaining = unmarked - (grown - self.window);
            self.window = grown;
        }
        if remaining > 0.0 {
            self.window += remaining * self.increase_per_round() / self.window;
        }
    }

    /// §2.3.2: "The Prague CC triggers update of its moving average once per RTT": alpha += g * (frac - alpha).
    fn measure(&mut self, ack: &Ack) {
        self.has_seen_mark |= ack.marked > 0;
        self.round.delivered += u64::from(ack.delivered);
        self.round.marked += u64::from(ack.marked);
        // A round trip is over when a packet sent in it is acknowledged; the virtual RTT may be longer.
        let over = ack.una > self.round.first
            && (!self.reduces_rtt_dependence()
                || ack.now.saturating_sub(self.round.began) >= self.virtual_rtt());
        if !over {
            return;
        }
        if self.has_seen_mark && self.round.delivered > 0 {
            let share = (self.round.marked as f64 / self.round.delivered as f64).min(1.0);
            self.alpha += GAIN * (share - self.alpha);
        }
        self.round = Round { began: ack.now, first: ack.next, delivered: 0, marked: 0 };
        if !self.is_in_slow_start() {
            self.rounds = self.rounds.saturating_add(1);
        }
    }

    /// §2.4.2: "ssthresh = (1 - alpha/2) * cwnd", then "it suppresses any further decreases for one round trip". The virtual
    /// RTT may be longer. §2.4.5: "Slow start is exited once a single mark is detected". The transport's state counts whole
    /// round trips: at 21 ms it would wait for 42 ms instead of 25.
    fn answer_marks(&mut self, ack: &Ack) {
        let suppressed = self.reduced.is_some_and(|last| {
            let fair = self.reduces_rtt_dependence() && ack.now.saturating_sub(last.at) < self.virtual_rtt();
            ack.una <= last.until || fair
        });
        if suppressed {
            return;
        }
        self.reduced = Some(Reduced { at: ack.now, until: ack.next, before: self.window });
        self.window = (self.window * (1.0 - self.alpha / 2.0)).max(WINDOW_MIN);
        self.threshold = self.window;
    }

    /// §2.4.1: "fall back to Reno-friendly behaviour on detection of a loss". After a reduction for marks "less than a round
    /// trip before … it MAY reduce the congestion window by a smaller amount due to the loss, as long as the reductions due to
    /// ECN and the loss are Reno-friendly when taken together": both halve the window.
    fn answer_loss(&mut self, now: Nanos) {
        self.is_losing = true;
        self.prior = (self.window, self.threshold);
        let recent = self.reduced.filter(|last| now.saturating_sub(last.at) < self.srtt);
        let before = recent.map_or(self.window, |last| last.before);
        self.window = self.window.min((before / 2.0).max(WINDOW_MIN));
        self.threshold = self.window.max(WINDOW_MIN);
    }
}

impl CongestionControl for Prague {
    fn is_scalable(&self) -> bool {
        self.accurate
    }

    fn on_ecn_mode(&mut self, mode: EcnMode) {
        self.accurate = mode == EcnMode::Accurate;
    }

    fn on_start(&mut self, now: Nanos, srtt: Nanos) {
        self.srtt = srtt;
        self.round.began = now;
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.srtt = ack.srtt;
        match ack.recovery {
            Recovery::Open | Recovery::Cwr => self.is_losing = false,
            // The transport reports no loss while a mark's reduction goes on, for schemes whose marks count like losses.
            Recovery::Recovery if self.accurate && !self.is_losing => self.answer_loss(ack.now),
            Recovery::Recovery | Recovery::Loss => {}
        }
        let repairs = self.is_losing && ack.recovery == Recovery::Recovery;
        let may_grow = if self.accurate { !repairs } else { ack.may_grow };
        if may_grow && ack.window_limited {
            self.grow(ack);
        }
        self.measure(ack);
        if ack.marked > 0 && self.accurate && !self.is_losing {
            self.answer_marks(ack);
        }
    }

    fn on_congestion(&mut self, kind: Congestion, now: Nanos) {
        match kind {
            // The ACK that follows tells more.
            Congestion::Ecn if self.accurate => {}
            // RFC 3168 §6.1.2: "essentially the same as the congestion control response to a *single* dropped packet".
            Congestion::Ecn => {
                self.answer_loss(now);
                self.is_losing = false;
            }
            Congestion::Loss => self.answer_loss(now),
            Congestion::Timeout => {
                self.answer_loss(now);
                self.window = 1.0;
            }
            Congestion::RepeatedTimeout => {
                self.is_losing = true;
                self.window = 1.0;
            }
        }
    }

    fn on_unused_window(&mut self, window: u32, threshold: u32) {
        self.window = f64::from(window).max(1.0);
        self.threshold =
            if threshold == u32::MAX { f64::INFINITY } else { f64::from(threshold).max(WINDOW_MIN) };
    }

    fn on_undo(&mut self, _now: Nanos) {
        let (window, threshold) = self.prior;
        self.window = self.window.max(window);
        self.threshold = self.threshold.max(threshold);
    }

    /// Linux rounds up, and pacing keeps the fraction.
    fn window(&self) -> u32 {
        self.window.ceil() as u32
    }

    fn slow_start_threshold(&self) -> u32 {
        self.threshold.ceil() as u32
    }

    /// §2.5.1: "pacing_rate = MTU_BITS * max(cwnd, inflight) / srtt", twice that in slow start. The transport waits for room in
    /// the window, so that inflight is not above cwnd for longer than a reduction lasts.
    fn pacing_rate(&self) -> Option<u64> {
        if !self.accurate || self.srtt == 0 {
            return None;
        }
        let gain = if self.window < self.threshold / 2.0 { 2.0 } else { 1.0 };
        let rate = gain * self.window * f64::from(SEGMENT_BYTES) * NANOS_PER_S / self.srtt as f64;
        Some((rate as u64).max(1))
    }

    fn paces_short_bursts(&self) -> bool {
        true
    }

    fn wants_rate_reduction(&self) -> bool {
        !self.accurate
    }
}

#[cfg(test)]
mod tests;
