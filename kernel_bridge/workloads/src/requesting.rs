//! A video or a page load over TCP: the client connects and requests, the server responds.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use leo_workload::{Client, Exchange, NEVER, Nanos, REQUEST_BYTES, Request, Step};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags};
use nix::sys::socket::{
    MsgFlags, SockFlag, SockaddrIn, accept4, connect, getpeername, getsockopt, send, setsockopt, sockopt,
};

use crate::clock::{Clock, waiting};
use crate::log::{Counts, SAMPLE_INTERVAL, Samples};
use crate::report::{self, Report, Times};
use crate::session::Session;
use crate::sockets::{self, Streams, address};
use crate::{During, Failure, begin, is_terminated};

/// The most bytes that one call sends.
const CHUNK_BYTES: usize = 1 << 18;
/// What requests and responses consist of.
static CHUNK: [u8; CHUNK_BYTES] = [0; CHUNK_BYTES];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Closed,
    Opening,
    Open,
}

/// Both ends of a connection.
#[derive(Debug)]
struct Connection {
    client: OwnedFd,
    /// From when the server accepts it.
    server: Option<OwnedFd>,
    state: State,
    start: Nanos,
    exchange: Exchange,
    /// Bytes of requests and responses that no socket has taken yet.
    unasked: u64,
    unsent: u64,
    /// Bytes of requests and responses that have arrived.
    asked: u64,
    delivered: u64,
    sent_log: Samples,
    received_log: Counts,
}

/// A client, its server and their connections.
#[derive(Debug)]
struct Run<'a> {
    session: &'a Session,
    client: Client,
    listener: OwnedFd,
    connections: Vec<Connection>,
}

/// Run both ends until the client needs nothing more, or the flow's stop.
pub fn run(session: &Session, client: Client) -> Result<Report, Failure> {
    let Streams { listener, clients } = sockets::streams(session)?;
    let requests = match &session.workload {
        leo_workload::WorkloadSpec::Page(page) => page.objects.len(),
        _ => 1,
    };
    let logs = session.send.logs.iter().zip(&session.receive.logs);
    let connections = clients.into_iter().zip(logs).map(|(client, (sent, received))| {
        Ok(Connection {
            client,
            server: None,
            state: State::Closed,
            start: NEVER,
            exchange: Exchange::new(requests),
            unasked: 0,
            unsent: 0,
            asked: 0,
            delivered: 0,
            sent_log: Samples::create(sent).during("log")?,
            received_log: Counts::create(received).during("log")?,
        })
    });
    let connections = connections.collect::<Result<_, _>>()?;
    let mut run = Run { session, client, listener, connections };
    let mut clock = begin(session)?;
    let since = clock.now();
    run.open(0, since)?;
    let mut next_sample = (since / SAMPLE_INTERVAL + 1) * SAMPLE_INTERVAL;
    loop {
        let now = clock.now();
        if now >= session.stop_ns || is_terminated() || run.client.is_done() {
            break;
        }
        if now >= next_sample {
            clock.note_late(next_sample);
            run.sample(now)?;
            next_sample = (now / SAMPLE_INTERVAL + 1) * SAMPLE_INTERVAL;
        }
        run.act(now)?;
        let until = run.next_event().min(next_sample).min(session.stop_ns);
        clock.wait(&mut run.waiting(), until).during("poll")?;
        run.take(since, &clock)?;
    }
    let stop = clock.now().min(session.stop_ns);
    run.sample(stop)?;
    run.end(&clock, stop)
}

impl Run<'_> {
    /// Let the client and the server do what is due, and the sockets take what they can.
    fn act(&mut self, now: Nanos) -> Result<(), Failure> {
        while let Some(step) = self.client.poll(now) {
            match step {
                Step::Open { connection } => self.open(connection, now)?,
                Step::Ask { connection, request } => {
                    let own = &mut self.connections[connection];
                    own.exchange.request(Request { bytes: request.bytes.max(1), ..request });
                    own.unasked += u64::from(REQUEST_BYTES);
                }
            }
        }
        for connection in &mut self.connections {
            while let Some(bytes) = connection.exchange.respond(now) {
                connection.unsent += bytes;
            }
            connection.unasked -= written(&connection.client, connection.unasked)?;
            if let Some(server) = &connection.server {
                connection.unsent -= written(server, connection.unsent)?;
            }
        }
        Ok(())
    }

    /// Process what has arrived.
    fn take(&mut self, since: Nanos, clock: &Clock) -> Result<(), Failure> {
        self.accept()?;
        for (place, connection) in (0..).zip(&mut self.connections) {
            if connection.state == State::Opening && has_connected(&connection.client)? {
                connection.state = State::Open;
                self.client.on_open(place, since, clock.now());
            }
            if let Some(server) = &connection.server {
                connection.asked += read(server)?;
                let requests = connection.asked / u64::from(REQUEST_BYTES);
                connection.exchange.on_request(requests, clock.now());
            }
            if connection.state == State::Open {
                let bytes = read(&connection.client)?;
                if bytes > 0 {
                    let now = clock.now();
                    connection.delivered += bytes;
                    connection.received_log.add(now, bytes).during("log")?;
                    while let Some(object) = connection.exchange.take_response(connection.delivered) {
                        self.client.on_response(place, object, now);
                    }
                }
            }
        }
        Ok(())
    }

    fn open(&mut self, place: usize, now: Nanos) -> Result<(), Failure> {
        let server = address(&self.session.send, self.session.port);
        let connection = &mut self.connections[place];
        (connection.state, connection.start) = (State::Opening, now);
        match connect(connection.client.as_raw_fd(), &server) {
            Ok(()) | Err(Errno::EINPROGRESS) => Ok(()),
            Err(error) => Err(error).during("connect"),
        }
    }

    /// Accept the connections that wait. The client's port tells which they are.
    fn accept(&mut self) -> Result<(), Failure> {
        let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
        loop {
            let server = match accept4(self.listener.as_raw_fd(), flags) {
                // SAFETY: the call returns a new descriptor, which nothing else owns.
                Ok(descriptor) => unsafe { OwnedFd::from_raw_fd(descriptor) },
                Err(Errno::EAGAIN | Errno::EINTR) => return Ok(()),
                Err(error) => return Err(error).during("accept"),
            };
            let peer: SockaddrIn = getpeername(server.as_raw_fd()).during("peer")?;
            let place = peer.port().wrapping_sub(self.session.port);
            let connection = self.connections.get_mut(usize::from(place));
            let known = connection.ok_or_else(|| std::io::Error::other(peer.to_string()));
            known.during("accepted a connection from elsewhere")?.server = Some(server);
        }
    }

    /// Return when the client or a server next does something.
    fn next_event(&self) -> Nanos {
        let responses = self.connections.iter().filter_map(|connection| connection.exchange.next_response());
        responses.fold(self.client.next_event(), Nanos::min)
    }

    /// Return what to wait for.
    fn waiting(&self) -> Vec<PollFd<'_>> {
        let events = |writes: bool| {
            if writes { PollFlags::POLLIN | PollFlags::POLLOUT } else { PollFlags::POLLIN }
        };
        let mut descriptors = vec![waiting(&self.listener, PollFlags::POLLIN)];
        for connection in &self.connections {
            if connection.state != State::Closed {
                let writes = connection.state == State::Opening || connection.unasked > 0;
                descriptors.push(waiting(&connection.client, events(writes)));
            }
            if let Some(server) = &connection.server {
                descriptors.push(waiting(server, events(connection.unsent > 0)));
            }
        }
        descriptors
    }

    fn sample(&mut self, now: Nanos) -> Result<(), Failure> {
        for connection in &mut self.connections {
            if let Some(server) = &connection.server {
                connection.sent_log.take(now, server).during("TCP_INFO")?;
            }
        }
        Ok(())
    }

    /// Abort all connections, and return the result.
    fn end(self, clock: &Clock, stop: Nanos) -> Result<Report, Failure> {
        let columns = report::of_client(&self.client, stop);
        let mut connections = Vec::new();
        for connection in self.connections {
            let abort = libc::linger { l_onoff: 1, l_linger: 0 };
            for socket in [Some(&connection.client), connection.server.as_ref()].into_iter().flatten() {
                setsockopt(socket, sockopt::Linger, &abort).during("SO_LINGER")?;
            }
            connection.sent_log.finish().during("log")?;
            connection.received_log.finish().during("log")?;
            let times = Times { start_ns: connection.start, stop_ns: stop };
            connections.push((connection.state != State::Closed).then_some(times));
        }
        Ok(Report::new(clock, connections, columns))
    }
}

/// Send up to `bytes` bytes; return how many the socket has taken.
fn written(socket: &OwnedFd, bytes: u64) -> Result<u64, Failure> {
    let mut sent = 0;
    while sent < bytes {
        let chunk = (bytes - sent).min(CHUNK_BYTES as u64) as usize;
        match send(socket.as_raw_fd(), &CHUNK[..chunk], MsgFlags::MSG_NOSIGNAL) {
            Ok(taken) => sent += taken as u64,
            Err(Errno::EAGAIN) => break,
            Err(Errno::EINTR) => {}
            Err(error) => return Err(error).during("send"),
        }
    }
    Ok(sent)
}

/// Discard the bytes that wait; return their number.
fn read(socket: &OwnedFd) -> Result<u64, Failure> {
    let mut bytes = 0;
    loop {
        // With MSG_TRUNC, TCP discards the bytes without copying them (tcp(7)).
        // SAFETY: the call then writes nothing.
        let count = unsafe {
            libc::recv(socket.as_raw_fd(), std::ptr::null_mut(), 1 << 30, MsgFlags::MSG_TRUNC.bits())
        };
        match Errno::result(count) {
            Ok(0) => return Ok(bytes),
            Ok(count) => bytes += count as u64,
            Err(Errno::EAGAIN) => return Ok(bytes),
            Err(Errno::EINTR) => {}
            Err(error) => return Err(error).during("receive"),
        }
    }
}

/// Whether a connection that opens is open.
fn has_connected(socket: &OwnedFd) -> Result<bool, Failure> {
    match getsockopt(socket, sockopt::SocketError).during("SO_ERROR")? {
        0 => Ok(getpeername::<SockaddrIn>(socket.as_raw_fd()).is_ok()),
        error => Err(Errno::from_raw(error)).during("connect"),
    }
}
