//! What a link is like at a given time: delay, capacity, loss and connectivity, constant or replayed from a path trace.

use std::sync::Arc;

use crate::disruption::{self, Disruption};
use crate::{NEVER, Nanos, PathTrace};

/// A rate that takes no time: the link is uncongested.
pub const UNLIMITED: u64 = u64::MAX;

/// The link's properties over a span of time that ends at `end`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// First instant that this span does not cover.
    pub end: Nanos,
    /// One-way propagation.
    pub delay: Nanos,
    /// Capacity in bit/s; `UNLIMITED` serialises in no time.
    pub rate_bps: u64,
    /// Independent loss probability per packet.
    pub loss: f64,
    /// False during an outage.
    pub connected: bool,
}

/// Which way along a path trace, and which of its columns gives the capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the path's first site to its second.
    Uplink,
    /// From the second to the first.
    Downlink,
}

/// Delay, capacity, loss and outages over time. Replay of a trace wraps at its period.
#[derive(Clone, Debug)]
pub enum Schedule {
    /// The same for ever.
    Constant(Span),
    /// Replayed from a path trace.
    Traced(Traced),
}

/// A path trace being replayed, with what the scenario puts in place of its columns.
#[derive(Clone, Debug)]
pub struct Traced {
    trace: Arc<PathTrace>,
    disruptions: Arc<[Disruption]>,
    direction: Direction,
    rate_bps: Option<u64>,
    /// Replay starts here in the trace's time.
    offset: Nanos,
    /// Row under the cursor, its beginning of period in simulated time (may precede zero, hence signed).
    row: usize,
    period_start: i128,
    current: Span,
    /// Whether some connected row has no capacity: the link sends in frames.
    silent: bool,
    /// The first disruption that the link has not seen the end of, and its period.
    next_disruption: usize,
    disruption_period_start: i128,
    /// When it begins, in simulated time: what arrives by then meets none. 0 where that is in the past.
    undisturbed_until: Nanos,
}

impl Schedule {
    /// A link that never changes.
    #[must_use]
    pub const fn constant(delay: Nanos, rate_bps: u64) -> Self {
        Self::Constant(Span { end: NEVER, delay, rate_bps, loss: 0.0, connected: true })
    }

    /// Replay `trace` from `offset` on; `rate_bps` takes the place of its capacity.
    ///
    /// With [`UNLIMITED`] the link has the path's delay and disruptions, but neither queueing nor random loss.
    #[must_use]
    pub fn traced(trace: Arc<PathTrace>, direction: Direction, rate_bps: Option<u64>, offset: Nanos) -> Self {
        let offset = offset % trace.period_ns;
        let mut traced = Traced {
            current: Span { end: 0, delay: 0, rate_bps: 0, loss: 0.0, connected: false },
            disruptions: disruption::of(&trace, direction).into(),
            direction,
            rate_bps,
            offset,
            silent: false,
            row: 0,
            period_start: -i128::from(offset),
            next_disruption: 0,
            disruption_period_start: -i128::from(offset),
            undisturbed_until: 0,
            trace,
        };
        traced.note_next_disruption();
        traced.row = traced.trace.rows.partition_point(|row| row.time_ns <= offset) - 1;
        traced.current = traced.span_of_row();
        traced.silent = traced.trace.rows.iter().any(|row| row.connected && traced.rate_of(row) == 0);
        Self::Traced(traced)
    }

    /// True when some span carries packets: otherwise nothing offered would ever leave.
    #[must_use]
    pub fn ever_carries(&self) -> bool {
        match self {
            Self::Constant(span) => span.connected && span.rate_bps > 0,
            Self::Traced(traced) => {
                traced.trace.rows.iter().any(|row| row.connected && traced.rate_of(row) > 0)
            }
        }
    }

    /// The delay, where there is nothing else to the schedule: ever the same, without loss, and no packet waits.
    #[must_use]
    pub fn only_delay(&self) -> Option<Nanos> {
        match self {
            Self::Constant(Span { delay, rate_bps: UNLIMITED, loss: 0.0, connected: true, .. }) => {
                Some(*delay)
            }
            _ => None,
        }
    }

    /// The span that covers `at`. The cursor only moves forward: for an earlier time it returns the latest span seen.
    #[inline]
    pub fn seek(&mut self, at: Nanos) -> &Span {
        match self {
            Self::Constant(span) => span,
            Self::Traced(traced) => {
                while at >= traced.current.end {
                    traced.step();
                }
                &traced.current
            }
        }
    }

    /// What takes a packet that is on its way from `departure` to `arrival`, if anything does, and when.
    ///
    /// Departures must not go back in time.
    #[inline]
    pub fn disruption(&mut self, departure: Nanos, arrival: Nanos) -> Option<(Nanos, Disruption)> {
        match self {
            Self::Constant(_) => None,
            Self::Traced(traced) if arrival <= traced.undisturbed_until => None,
            Self::Traced(traced) => traced.disruption(departure, arrival),
        }
    }

    /// The span that covers `at`, without moving the cursor: any time may be asked for.
    #[must_use]
    pub fn at(&self, at: Nanos) -> Span {
        match self {
            Self::Constant(span) => *span,
            Self::Traced(traced) => traced.at(at),
        }
    }

    /// Bits that the schedule could carry in `from..to`; outages count as zero, an uncongested link as `f64::INFINITY`.
    #[must_use]
    pub fn capacity_bits(&self, from: Nanos, to: Nanos) -> f64 {
        if self.at(from).rate_bps == UNLIMITED {
            return f64::INFINITY;
        }
        let carried = self.spans(from, to).filter(|(span, _)| span.connected);
        carried.map(|(span, duration)| span.rate_bps as f64 * duration as f64 * 1e-9).sum()
    }

    /// Mean rate in bit/s over `from..to` of a link that sends in frames: one that falls silent for up to `longest` at a
    /// time. Longer silences and outages are left out. `None` where there are no frames.
    #[must_use]
    pub fn framed_rate_bps(&self, from: Nanos, to: Nanos, longest: Nanos) -> Option<u64> {
        // Telemetry asks at every packet, of links most of which have no frames.
        let silent = match self {
            Self::Constant(span) => span.connected && span.rate_bps == 0,
            Self::Traced(traced) => traced.silent,
        };
        if !silent {
            return None;
        }
        let (mut bits, mut time, mut silence, mut silences) = (0_u128, 0, 0, 0);
        for (span, duration) in self.spans(from, to) {
            if span.rate_bps == UNLIMITED {
                return None;
            }
            if span.connected && span.rate_bps == 0 {
                silence += duration;
                continue;
            }
            if silence > 0 && silence <= longest {
                silences += 1;
                time += silence;
            }
            silence = 0;
            if span.connected {
                bits += u128::from(span.rate_bps) * u128::from(duration);
                time += duration;
            }
        }
        (silences > 0 && time > 0).then(|| (bits / u128::from(time)) as u64)
    }

    /// Whether no outage touches `from..to`.
    #[must_use]
    pub fn stays_connected(&self, from: Nanos, to: Nanos) -> bool {
        self.spans(from, to).all(|(span, _)| span.connected)
    }

    /// The spans that `from..to` falls into, each with how long it does.
    fn spans(&self, from: Nanos, to: Nanos) -> impl Iterator<Item = (Span, Nanos)> + '_ {
        let mut now = from;
        let mut place = match self {
            Self::Constant(_) => None,
            Self::Traced(traced) => Some(traced.place(from)),
        };
        std::iter::from_fn(move || {
            if now >= to {
                return None;
            }
            let span = match (self, &mut place) {
                (Self::Traced(traced), Some((row, period_start))) => {
                    let span = traced.span(*row, *period_start);
                    (*row, *period_start) = traced.after(*row, *period_start);
                    span
                }
                _ => self.at(now),
            };
            let end = span.end.min(to);
            let duration = end - now;
            now = end;
            Some((span, duration))
        })
    }
}

impl Traced {
    fn rate_of(&self, row: &crate::Row) -> u64 {
        match (self.rate_bps, self.direction) {
            (Some(rate), _) => rate,
            (None, Direction::Uplink) => row.uplink_bps,
            (None, Direction::Downlink) => row.downlink_bps,
        }
    }

    fn span(&self, row: usize, period_start: i128) -> Span {
        let rows = &self.trace.rows;
        let end = rows.get(row + 1).map_or(self.trace.period_ns, |next| next.time_ns);
        let row = &rows[row];
        Span {
            end: Nanos::try_from(period_start + i128::from(end)).unwrap_or(0),
            delay: row.delay_ns,
            rate_bps: self.rate_of(row),
            loss: if self.rate_bps == Some(UNLIMITED) { 0.0 } else { row.loss },
            connected: row.connected,
        }
    }

    fn span_of_row(&self) -> Span {
        self.span(self.row, self.period_start)
    }

    #[cold]
    fn step(&mut self) {
        (self.row, self.period_start) = self.after(self.row, self.period_start);
        self.current = self.span_of_row();
    }

    /// The row after a row, and when its period began.
    fn after(&self, row: usize, period_start: i128) -> (usize, i128) {
        if row + 1 == self.trace.rows.len() {
            (0, period_start + i128::from(self.trace.period_ns))
        } else {
            (row + 1, period_start)
        }
    }

    fn at(&self, at: Nanos) -> Span {
        // Most ask for a time that the cursor is at.
        let begins = self.period_start + i128::from(self.trace.rows[self.row].time_ns);
        if begins <= i128::from(at) && at < self.current.end {
            return self.current;
        }
        let (row, period_start) = self.place(at);
        self.span(row, period_start)
    }

    /// The row that covers `at`, and when its period began.
    fn place(&self, at: Nanos) -> (usize, i128) {
        let period = u128::from(self.trace.period_ns);
        let total = u128::from(at) + u128::from(self.offset);
        let in_period = (total % period) as Nanos;
        let row = self.trace.rows.partition_point(|row| row.time_ns <= in_period) - 1;
        (row, i128::from(at) - i128::from(in_period))
    }

    fn note_next_disruption(&mut self) {
        let next = self.disruptions.get(self.next_disruption);
        let at = next.map(|disruption| self.disruption_period_start + i128::from(disruption.at));
        self.undisturbed_until = at.map_or(NEVER, |at| Nanos::try_from(at.max(0)).unwrap_or(NEVER));
    }

    #[inline(never)]
    fn disruption(&mut self, departure: Nanos, arrival: Nanos) -> Option<(Nanos, Disruption)> {
        if self.disruptions.is_empty() {
            return None;
        }
        let (departure, arrival) = (i128::from(departure), i128::from(arrival));
        while self.disruption_period_start + i128::from(self.disruptions[self.next_disruption].at) < departure
        {
            (self.next_disruption, self.disruption_period_start) =
                self.disruption_after(self.next_disruption, self.disruption_period_start);
        }
        self.note_next_disruption();
        let (mut index, mut period_start) = (self.next_disruption, self.disruption_period_start);
        loop {
            let disruption = self.disruptions[index];
            let at = period_start + i128::from(disruption.at);
            if at >= arrival {
                return None;
            }
            if disruption.takes((at - departure) as Nanos) {
                return Some((at as Nanos, disruption));
            }
            (index, period_start) = self.disruption_after(index, period_start);
        }
    }

    fn disruption_after(&self, index: usize, period_start: i128) -> (usize, i128) {
        if index + 1 < self.disruptions.len() {
            (index + 1, period_start)
        } else {
            (0, period_start + i128::from(self.trace.period_ns))
        }
    }
}

#[cfg(test)]
mod tests;
