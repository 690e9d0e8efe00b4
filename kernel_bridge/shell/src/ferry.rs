//! The loop that carries packets between two TUN devices, through one link per direction, in real time.

use std::io;
use std::os::fd::AsFd;
use std::rc::Rc;

use leo_link::{Direction, Histogram, Link, NEVER, Nanos, Offer};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::signalfd::SignalFd;
use nix::sys::time::TimeSpec;

use crate::alarm::Alarm;
use crate::clock::Clock;
use crate::datagram::{Datagram, Pool};
use crate::interface::Tun;
use crate::journal::{Event, Journal};
use crate::sleep_debt::SleepDebt;

/// Packets read from one device before due packets are delivered again.
const BATCH: usize = 32;

/// The most time for the last packets after the command has ended.
const DRAIN: Nanos = 1_000_000_000;

/// The most time for answers of programs outside once no packet is in flight.
const QUIET: Nanos = 20_000_000;

/// One direction: its link, and the devices that packets come from and go to.
#[derive(Debug)]
pub struct Way<'a> {
    direction: Direction,
    link: Link<Datagram>,
    from: &'a Tun,
    to: &'a Tun,
    pool: Rc<Pool>,
    /// Dropped and lost packets already in the journal.
    noted: (u64, u64),
    tally: Tally,
}

/// The counters of one direction.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Lateness of departures, the delay that the machine adds to the link. Quantiles are at most 1/16 too high.
    pub lateness: Histogram<4>,
    /// Packets that the kernel refused because the device was down.
    pub refused: u64,
    /// Packets other than IPv4 and IPv6 from host to host, which never entered the link.
    pub foreign: u64,
    pub offered: u64,
    pub delivered: u64,
    pub dropped: u64,
    pub lost: u64,
    pub marked: u64,
    /// Packets that waited or were in flight at the end.
    pub under_way: u64,
    pub delivered_bytes: u64,
    /// Bytes dropped or lost.
    pub gone_bytes: u64,
}

impl<'a> Way<'a> {
    pub fn new(
        direction: Direction,
        link: Link<Datagram>,
        from: &'a Tun,
        to: &'a Tun,
        pool: Rc<Pool>,
    ) -> Self {
        Self { direction, link, from, to, pool, noted: (0, 0), tally: Tally::default() }
    }

    /// Write the packets that are due by `now`.
    #[inline]
    fn deliver(&mut self, now: Nanos, clock: &Clock, journal: &mut Option<Journal>) {
        loop {
            let due = self.link.next_event();
            if due > now {
                return;
            }
            let packet = self.link.poll(due);
            let at = clock.now();
            if let Some(packet) = packet {
                let late = at - due;
                self.tally.lateness.record(late);
                if let Some(journal) = journal {
                    let bytes = packet.contents().len() as u16;
                    journal.note(
                        at,
                        self.direction,
                        Event::Left { bytes, after: at - packet.offered_at, late },
                    );
                }
                if self.to.write(packet.framed()).is_err() {
                    self.tally.refused += 1;
                }
                packet.delivered();
            }
            if journal.is_some() {
                self.note_gone(at, journal);
            }
        }
    }

    /// Read arrived packets, the first of which came at `first`. Return true if there may be more.
    #[inline]
    fn accept(&mut self, first: Nanos, clock: &Clock, journal: &mut Option<Journal>) -> io::Result<bool> {
        for index in 0..BATCH {
            let mut packet = self.pool.take();
            let bytes = match self.from.read(packet.room()) {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                // The device is down: somebody turned it off.
                Err(error) if error.raw_os_error() == Some(libc::EIO) => return Ok(false),
                Err(error) => return Err(error),
            };
            let now = if index == 0 { first } else { clock.now() };
            if !packet.filled(bytes, now) {
                self.tally.foreign += 1;
                continue;
            }
            if let Some(journal) = journal {
                journal.note(now, self.direction, Event::Came(packet.contents().len() as u16));
            }
            let offer = self.link.offer(packet, now);
            if journal.is_some() && (offer == Offer::Dropped || self.link.next_event() <= now) {
                self.note_gone(now, journal);
            }
        }
        Ok(true)
    }

    /// Log the packets that the link has dropped or lost since the last call.
    fn note_gone(&mut self, now: Nanos, journal: &mut Option<Journal>) {
        let stats = self.link.stats(now);
        let (dropped, lost) = std::mem::replace(&mut self.noted, (stats.dropped, stats.lost));
        let Some(journal) = journal else { return };
        if stats.dropped > dropped {
            journal.note(now, self.direction, Event::Dropped(stats.dropped - dropped));
        }
        if stats.lost > lost {
            journal.note(now, self.direction, Event::Lost(stats.lost - lost));
        }
    }

    /// Return the counters until `now`.
    fn into_tally(mut self, now: Nanos, journal: &mut Option<Journal>) -> Tally {
        self.note_gone(now, journal);
        let stats = self.link.stats(now);
        let under_way = self.link.queued_packets(now) + self.link.in_flight_packets(now);
        Tally {
            offered: stats.offered,
            delivered: stats.delivered,
            dropped: stats.dropped,
            lost: stats.lost,
            marked: stats.marked,
            under_way,
            delivered_bytes: stats.delivered_bytes,
            gone_bytes: self.pool.gone_bytes(),
            ..self.tally
        }
    }
}

/// When to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The command still runs.
    NotYet,
    /// The command has ended. Its last packets still arrive within [`DRAIN`], so peers see connections close.
    WhenEmpty,
    Now,
}

/// The result of a run.
#[derive(Debug)]
pub struct Carried {
    pub uplink: Tally,
    pub downlink: Tally,
    pub duration: Nanos,
}

/// Carry packets until `ended`, called after each signal, says so. Fails if a device is gone.
pub fn carry(
    [mut uplink, mut downlink]: [Way<'_>; 2],
    clock: &Clock,
    mut alarm: Alarm,
    journal: &mut Option<Journal>,
    signals: &SignalFd,
    mut ended: impl FnMut() -> End,
) -> io::Result<Carried> {
    let mut more = false;
    let mut last = NEVER;
    let mut quiet = false;
    let mut debt = SleepDebt::default();
    loop {
        let now = clock.now();
        uplink.deliver(now, clock, journal);
        downlink.deliver(now, clock, journal);
        let due = uplink.link.next_event().min(downlink.link.next_event());
        let drained = last != NEVER && due == NEVER && !more;
        if now >= last || (drained && quiet) {
            let (uplink, downlink) = (uplink.into_tally(now, journal), downlink.into_tally(now, journal));
            return Ok(Carried { uplink, downlink, duration: now });
        }
        let now = clock.now();
        debt.was_awake(now);
        let wait = match (more, drained) {
            (true, _) => Some(0),
            (_, true) => Some(QUIET),
            _ => alarm.sleep(due.min(last), now, debt.is_owed()),
        };
        let mut sources = [
            PollFd::new(uplink.from.as_fd(), PollFlags::POLLIN),
            PollFd::new(downlink.from.as_fd(), PollFlags::POLLIN),
            PollFd::new(signals.as_fd(), PollFlags::POLLIN),
        ];
        let sleeps = wait != Some(0);
        match ppoll(&mut sources, wait.map(timespec), None) {
            Ok(0) if sleeps => alarm.woke(due, clock.now()),
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        let awake = clock.now();
        if sleeps {
            debt.was_asleep(awake);
        }
        // The packet that ended the sleep arrived before this process woke up.
        let came = if sleeps { awake.saturating_sub(alarm.latency()).max(now) } else { awake };
        let ready = sources.map(|source| source.any().unwrap_or(true));
        quiet = drained && ready == [false; 3];
        // Read both devices: a combined `||` would skip the second.
        let more_up = ready[0] && uplink.accept(came, clock, journal)?;
        let more_down = ready[1] && downlink.accept(came, clock, journal)?;
        more = more_up || more_down;
        if let Some(journal) = journal {
            journal.keep_up(clock.now());
        }
        if ready[2] && last == NEVER {
            last = match ended() {
                End::NotYet => NEVER,
                End::WhenEmpty => clock.now() + DRAIN,
                End::Now => 0,
            };
        }
    }
}

const fn timespec(time: Nanos) -> TimeSpec {
    TimeSpec::new((time / 1_000_000_000) as i64, (time % 1_000_000_000) as i64)
}
