//! One end of a flow: an endpoint with one connection, driven as quinn does on tokio.

use std::collections::VecDeque;
use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};

use bytes::BytesMut;
use leo_transport::{Datagram, NEVER, Nanos};
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, EcnCodepoint, Endpoint, Transmit,
};

use crate::application::Application;
use crate::clock::Clock;
use crate::recorder::SharedRecord;

/// Segments of a GSO send: quinn's limit.
const MAX_SEGMENTS: usize = 10;
const NANOS_PER_MS: Nanos = 1_000_000;
/// Any address: a flow has one path.
const PEER: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 443);

/// An end of a flow.
pub struct Host {
    clock: Clock,
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    application: Application,
    record: Option<SharedRecord>,
    /// Datagrams of the last send that have not been taken.
    pending: VecDeque<Datagram>,
    buffer: Vec<u8>,
    is_awake: bool,
    wakes: Nanos,
    probe_timeouts: u64,
    lost: Option<(Nanos, String)>,
}

impl fmt::Debug for Host {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Host").field("application", &self.application).finish_non_exhaustive()
    }
}

impl Host {
    pub fn new(
        clock: Clock,
        endpoint: Endpoint,
        application: Application,
        record: Option<SharedRecord>,
    ) -> Self {
        Self {
            clock,
            endpoint,
            connection: None,
            application,
            record,
            pending: VecDeque::new(),
            buffer: Vec::new(),
            is_awake: false,
            wakes: NEVER,
            probe_timeouts: 0,
            lost: None,
        }
    }

    /// Open the connection.
    pub fn connect(&mut self, now: Nanos, config: ClientConfig) {
        let connection = self.endpoint.connect(self.clock.instant(now), config, PEER, "sender");
        debug_assert!(connection.is_ok(), "the address and the version are valid");
        self.connection = connection.ok();
        self.is_awake = true;
    }

    pub const fn application(&self) -> &Application {
        &self.application
    }

    pub fn connection(&self) -> Option<&Connection> {
        self.connection.as_ref().map(|(_, connection)| connection)
    }

    /// Return when the connection was lost, and why.
    pub fn lost(&self) -> Option<(Nanos, &str)> {
        self.lost.as_ref().map(|(at, reason)| (*at, reason.as_str()))
    }

    pub const fn probe_timeouts(&self) -> u64 {
        self.probe_timeouts
    }

    pub const fn wakes(&self) -> Nanos {
        self.wakes
    }

    /// Wake if it is time to.
    pub const fn wake(&mut self, now: Nanos) {
        if now >= self.wakes {
            self.is_awake = true;
        }
    }

    pub fn on_datagram(&mut self, now: Nanos, datagram: &Datagram) {
        self.is_awake = true;
        let instant = self.clock.instant(now);
        let payload = BytesMut::from(&datagram.payload[..]);
        let ecn = EcnCodepoint::from_bits(datagram.ecn);
        self.buffer.clear();
        match self.endpoint.handle(instant, PEER, None, ecn, payload, &mut self.buffer) {
            Some(DatagramEvent::NewConnection(incoming)) => {
                match self.endpoint.accept(incoming, instant, &mut self.buffer, None) {
                    Ok(accepted) => self.connection = Some(accepted),
                    Err(refused) => {
                        self.lost = Some((now, refused.cause.to_string()));
                        if let Some(transmit) = refused.response {
                            self.send(&transmit);
                        }
                    }
                }
            }
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some((_, connection)) = &mut self.connection {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::Response(transmit)) => self.send(&transmit),
            None => {}
        }
    }

    /// Return the next datagram to send now; after the last one, sleep.
    pub fn transmit(&mut self, now: Nanos) -> Option<Datagram> {
        let instant = self.clock.instant(now);
        while self.pending.is_empty() && self.is_awake {
            let (handle, connection) = self.connection.as_mut()?;
            self.buffer.clear();
            if let Some(transmit) = connection.poll_transmit(instant, MAX_SEGMENTS, &mut self.buffer) {
                self.send(&transmit);
                continue;
            }
            let mut goes_on = false;
            if connection.poll_timeout().is_some_and(|deadline| deadline <= instant) {
                let before = connection.stats().path.lost_packets;
                // RFC 9002 §6.2.1: a probe timeout is longer than the RTT, and nothing has been sent since it began. A timer
                // of time-threshold loss detection finds losses.
                let waits = self.record.as_ref().is_some_and(|record| {
                    let record = *record.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                    let silence = record.last_sent.map(|sent| instant - sent);
                    record.in_flight > 0 && silence.is_some_and(|silence| silence > connection.rtt())
                });
                connection.handle_timeout(instant);
                self.probe_timeouts += u64::from(waits && connection.stats().path.lost_packets == before);
                goes_on = true;
            }
            while let Some(event) = connection.poll_endpoint_events() {
                if let Some(event) = self.endpoint.handle_event(*handle, event) {
                    connection.handle_event(event);
                    goes_on = true;
                }
            }
            let mut lost = None;
            goes_on |= self.application.run(connection, &mut lost);
            if let Some(reason) = lost {
                self.lost = Some((now, reason.to_string()));
            }
            if !goes_on {
                self.wakes = match connection.poll_timeout() {
                    Some(deadline) => waking_time(now, self.clock.nanos(deadline)),
                    None => NEVER,
                };
                self.is_awake = false;
            }
        }
        self.pending.pop_front()
    }

    /// Split a send into its datagrams.
    fn send(&mut self, transmit: &Transmit) {
        let ecn = transmit.ecn.map_or(0, |codepoint| codepoint as u8);
        let segment = transmit.segment_size.unwrap_or(transmit.size);
        let datagrams = self.buffer[..transmit.size].chunks(segment);
        self.pending.extend(datagrams.map(|payload| Datagram { payload: payload.to_vec(), ecn }));
    }
}

/// Return when tokio wakes a task at `now` that sleeps until `deadline`.
///
/// Its timers have whole milliseconds since its start: the deadline is rounded up, and the sleep lasts as many milliseconds as
/// lie between that tick and the last one. So it can be almost 2 ms late.
const fn waking_time(now: Nanos, deadline: Nanos) -> Nanos {
    let ticks = deadline.div_ceil(NANOS_PER_MS).saturating_sub(now / NANOS_PER_MS);
    now + ticks * NANOS_PER_MS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleeps_last_whole_milliseconds_and_end_at_or_after_the_deadline() {
        let us = |value: Nanos| value * 1_000;
        for (now, deadline, wakes) in
            [(0, 1_000, 1_000), (300, 700, 1_300), (800, 1_100, 2_800), (2_000, 2_000, 2_000)]
        {
            assert_eq!(waking_time(us(now), us(deadline)), us(wakes));
        }
    }
}
