//! A link's delay, capacity, loss and connectivity over time, constant or replayed from a path trace.

use std::sync::Arc;

use crate::disruption::{self, Disruption};
use crate::{NEVER, Nanos, OneWay, PathTrace};

/// The rate of an uncongested link: transmission takes no time.
pub const UNLIMITED: u64 = u64::MAX;

/// The link's properties until `end`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// First instant that this span does not cover.
    pub end: Nanos,
    /// One-way propagation.
    pub delay: Nanos,
    /// Capacity in bit/s, or [`UNLIMITED`].
    pub rate_bps: u64,
    /// Independent loss probability per packet.
    pub loss: f64,
    /// False during an outage.
    pub connected: bool,
}

/// A direction along a path trace; it selects the columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the path's first site to its second.
    Uplink,
    /// From the second to the first.
    Downlink,
}

impl Direction {
    /// Return the other direction.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Uplink => Self::Downlink,
            Self::Downlink => Self::Uplink,
        }
    }
}

/// Delay, capacity, loss and outages over time. Replay of a trace wraps at its period.
#[derive(Clone, Debug)]
pub enum Schedule {
    /// Never changes.
    Constant(Span),
    /// Replayed from a path trace.
    Traced(Traced),
}

/// A path trace in replay, with the scenario's overrides.
#[derive(Clone, Debug)]
pub struct Traced {
    trace: Arc<PathTrace>,
    disruptions: Arc<[Disruption]>,
    direction: Direction,
    rate_bps: Option<u64>,
    /// Trace time at which replay starts.
    offset: Nanos,
    /// Row under the cursor, and the start of its period in simulated time (signed: it may precede zero).
    row: usize,
    period_start: i128,
    current: Span,
    /// True if some connected row has no capacity: the link sends in frames.
    silent: bool,
    /// The first disruption not before the last departure, and the start of its period.
    next_disruption: usize,
    disruption_period_start: i128,
    /// When that disruption begins, in simulated time, at least 0: packets that arrive by then meet none.
    undisturbed_until: Nanos,
}

impl Schedule {
    /// Create a schedule that never changes.
    pub const fn constant(delay: Nanos, rate_bps: u64) -> Self {
        Self::Constant(Span { end: NEVER, delay, rate_bps, loss: 0.0, connected: true })
    }

    /// Replay `trace` from `offset` on; `rate_bps` overrides its capacity.
    ///
    /// With [`UNLIMITED`] the link has the path's delay and disruptions, but no queueing and no random loss.
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
        traced.silent = traced.ever_has(|rate| rate == 0);
        Self::Traced(traced)
    }

    /// Return whether some span carries packets; otherwise no packet would ever leave.
    pub fn ever_carries(&self) -> bool {
        match self {
            Self::Constant(span) => span.connected && span.rate_bps > 0,
            Self::Traced(traced) => traced.ever_has(|rate| rate > 0),
        }
    }

    /// Return the delay if the schedule does nothing else: constant, connected, lossless and uncongested.
    pub fn only_delay(&self) -> Option<Nanos> {
        match self {
            Self::Constant(Span { delay, rate_bps: UNLIMITED, loss: 0.0, connected: true, .. }) => {
                Some(*delay)
            }
            _ => None,
        }
    }

    /// Return the span at `at`. The cursor only moves forward: an earlier time gives the latest span.
    #[inline]
    pub fn seek(&mut self, at: Nanos) -> &Span {
        match self {
            Self::Constant(span) => span,
            Self::Traced(traced) => {
                if at >= traced.current.end {
                    traced.step(at);
                }
                &traced.current
            }
        }
    }

    /// Return the time and the disruption that drop a packet in flight from `departure` to `arrival`.
    ///
    /// Departures must not decrease.
    #[inline]
    pub fn disruption(&mut self, departure: Nanos, arrival: Nanos) -> Option<(Nanos, Disruption)> {
        match self {
            Self::Constant(_) => None,
            Self::Traced(traced) if arrival <= traced.undisturbed_until => None,
            Self::Traced(traced) => traced.disruption(departure, arrival),
        }
    }

    /// Return a time by which every packet in flight arrives undisturbed, as far as it is known; 0 if it is not.
    #[inline]
    pub const fn undisturbed_until(&self) -> Nanos {
        match self {
            Self::Constant(_) => NEVER,
            Self::Traced(traced) => traced.undisturbed_until,
        }
    }

    /// Return the span that covers `at`, which may be any time, without moving the cursor.
    pub fn at(&self, at: Nanos) -> Span {
        match self {
            Self::Constant(span) => *span,
            Self::Traced(traced) => traced.at(at),
        }
    }

    /// Return the bits that fit in `from..to`; none in outages, `f64::INFINITY` on an uncongested link.
    pub fn capacity_bits(&self, from: Nanos, to: Nanos) -> f64 {
        if self.at(from).rate_bps == UNLIMITED {
            return f64::INFINITY;
        }
        let carried = self.spans(from, to).filter(|(span, _)| span.connected);
        carried.map(|(span, duration)| span.rate_bps as f64 * duration as f64 * 1e-9).sum()
    }

    /// Return the mean rate in bit/s over `from..to` of a link that sends in frames, with silences of up to
    /// `longest` in between. Longer silences and outages are excluded. `None` if there are no frames.
    pub fn framed_rate_bps(&self, from: Nanos, to: Nanos, longest: Nanos) -> Option<u64> {
        // Telemetry calls this for every packet, and most links have no frames.
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

    /// Return whether no outage touches `from..to`.
    pub fn stays_connected(&self, from: Nanos, to: Nanos) -> bool {
        self.spans(from, to).all(|(span, _)| span.connected)
    }

    /// Iterate over the spans that `from..to` overlaps, each with the length of the overlap.
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
    /// Return whether this direction ever has such a rate while it is connected.
    fn ever_has(&self, has_rate: impl Fn(u64) -> bool) -> bool {
        let mut ways = self.trace.rows.iter().map(|row| row.way(self.direction));
        ways.any(|way| way.connected && has_rate(self.rate_of(way)))
    }

    fn rate_of(&self, way: &OneWay) -> u64 {
        self.rate_bps.unwrap_or(way.rate_bps)
    }

    fn span(&self, row: usize, period_start: i128) -> Span {
        let rows = &self.trace.rows;
        let end = rows.get(row + 1).map_or(self.trace.period_ns, |next| next.time_ns);
        let way = rows[row].way(self.direction);
        Span {
            end: Nanos::try_from(period_start + i128::from(end)).unwrap_or(0),
            delay: way.delay_ns,
            rate_bps: self.rate_of(way),
            loss: if self.rate_bps == Some(UNLIMITED) { 0.0 } else { way.loss },
            connected: way.connected,
        }
    }

    fn span_of_row(&self) -> Span {
        self.span(self.row, self.period_start)
    }

    /// Move the cursor on to `at`: mostly to the next row, and after a long silence straight to the right one.
    #[cold]
    fn step(&mut self, at: Nanos) {
        (self.row, self.period_start) = self.after(self.row, self.period_start);
        self.current = self.span_of_row();
        if at >= self.current.end {
            (self.row, self.period_start) = self.place(at);
            self.current = self.span_of_row();
        }
    }

    /// Return the next row and the start of its period.
    fn after(&self, row: usize, period_start: i128) -> (usize, i128) {
        if row + 1 == self.trace.rows.len() {
            (0, period_start + i128::from(self.trace.period_ns))
        } else {
            (row + 1, period_start)
        }
    }

    fn at(&self, at: Nanos) -> Span {
        // Most callers ask for the cursor's span.
        let begins = self.period_start + i128::from(self.trace.rows[self.row].time_ns);
        if begins <= i128::from(at) && at < self.current.end {
            return self.current;
        }
        let (row, period_start) = self.place(at);
        self.span(row, period_start)
    }

    /// Return the row that covers `at` and the start of its period.
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
