//! A call over UDP.

use std::os::fd::AsRawFd;

use leo_workload::{Call, CallSpec, Nanos};
use nix::errno::Errno;
use nix::poll::PollFlags;
use nix::sys::socket::{MsgFlags, recv, sendto};

use crate::clock::waiting;
use crate::log::Counts;
use crate::report::{self, Report, Times};
use crate::session::{End, Session};
use crate::sockets::{self, Datagrams, address};
use crate::{During, Failure, begin, is_terminated};

/// Bytes of IP and UDP.
const HEADER_BYTES: u32 = 20 + 8;
/// Bytes of RTP, in which a packet's number and departure are.
const RTP_BYTES: usize = 12;
/// The largest datagram.
const MOST_BYTES: usize = 1_500;

/// Run both ends of a call until the flow's stop.
pub fn run(session: &Session, spec: CallSpec) -> Result<Report, Failure> {
    let sockets = sockets::datagrams(session)?;
    let log = |end: &End| Counts::create(&end.logs[0]).during("log");
    let (mut sent, mut received) = (log(&session.send)?, log(&session.receive)?);
    let [there, back] = [&session.receive, &session.send].map(|end| address(end, session.port));
    let mut call = Call::new(spec);
    let mut buffer = [0; MOST_BYTES];
    let mut clock = begin(session)?;
    let (Datagrams { sender, receiver }, start) = (&sockets, clock.now());
    call.start(start);
    loop {
        let now = clock.now();
        if now >= session.stop_ns || is_terminated() {
            break;
        }
        clock.note_late(call.next_event());
        while let Some(bytes) = call.take(now) {
            let left = clock.now();
            buffer[..4].copy_from_slice(&(call.sent() as u32).to_be_bytes());
            buffer[4..RTP_BYTES].copy_from_slice(&left.to_be_bytes());
            let datagram = &buffer[..(bytes - HEADER_BYTES) as usize];
            sendto(sender.as_raw_fd(), datagram, &there, MsgFlags::empty()).during("send")?;
            sent.add(left, 1).during("log")?;
        }
        if let Some(report) = call.take_report(now) {
            buffer[..8].copy_from_slice(&report.arrivals.to_be_bytes());
            buffer[8..16].copy_from_slice(&report.echo.to_be_bytes());
            let datagram = &buffer[..(report.bytes - HEADER_BYTES) as usize];
            sendto(receiver.as_raw_fd(), datagram, &back, MsgFlags::empty()).during("send")?;
        }
        let mut descriptors = [receiver, sender].map(|socket| waiting(socket, PollFlags::POLLIN));
        clock.wait(&mut descriptors, call.next_event().min(session.stop_ns)).during("poll")?;
        while let Some(bytes) = read(receiver, &mut buffer)? {
            let now = clock.now();
            let (number, left) = (u64::from(u32::from_be_bytes(field(&buffer, 0))), time(&buffer, 4));
            call.on_packet(now, number, left, bytes as u32 + HEADER_BYTES);
            received.add(now, (bytes - RTP_BYTES) as u64).during("log")?;
        }
        while read(sender, &mut buffer)?.is_some() {
            call.on_report(clock.now(), time(&buffer, 0), time(&buffer, 8));
        }
    }
    sent.finish().during("log")?;
    received.finish().during("log")?;
    let stop = clock.now().min(session.stop_ns);
    let columns = report::of_call(&call, stop, stop.saturating_sub(start));
    Ok(Report::new(&clock, vec![Some(Times { start_ns: start, stop_ns: stop })], columns))
}

/// Read a datagram, if one waits; return its size.
fn read(socket: &impl AsRawFd, buffer: &mut [u8]) -> Result<Option<usize>, Failure> {
    match recv(socket.as_raw_fd(), buffer, MsgFlags::empty()) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(Errno::EAGAIN | Errno::EINTR) => Ok(None),
        Err(error) => Err(error).during("receive"),
    }
}

fn time(buffer: &[u8], from: usize) -> Nanos {
    Nanos::from_be_bytes(field(buffer, from))
}

fn field<const BYTES: usize>(buffer: &[u8], from: usize) -> [u8; BYTES] {
    std::array::from_fn(|place| buffer[from + place])
}
