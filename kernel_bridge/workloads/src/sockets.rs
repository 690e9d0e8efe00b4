//! The sockets of both ends, each in its end's network namespace.

use std::fs::File;
use std::net::SocketAddrV4;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::sched::{CloneFlags, setns};
use nix::sys::socket::{
    AddressFamily, Backlog, SockFlag, SockType, SockaddrIn, bind, listen, setsockopt, socket, sockopt,
};

use crate::session::{End, Session};
use crate::{During, Failure};

/// Large enough that no packet of a call waits for a socket's buffer, as in traffic.c.
const DATAGRAM_BUFFER_BYTES: usize = 1 << 23;

/// TCP sockets.
#[derive(Debug)]
pub struct Streams {
    /// The server's listening socket.
    pub listener: OwnedFd,
    /// The client's unconnected sockets, one per connection.
    pub clients: Vec<OwnedFd>,
}

/// UDP sockets.
#[derive(Debug)]
pub struct Datagrams {
    pub sender: OwnedFd,
    pub receiver: OwnedFd,
}

/// Make the sockets of a video or page.
pub fn streams(session: &Session) -> Result<Streams, Failure> {
    let listener = stream(&session.send, session.port)?;
    let connections = session.workload.connections() as u16;
    // A waiting connection request would be dropped beyond the backlog.
    let backlog = Backlog::new(i32::from(connections)).during("listen")?;
    listen(&listener, backlog).during("listen")?;
    let clients = (0..connections).map(|place| stream(&session.receive, session.port + place));
    Ok(Streams { listener, clients: clients.collect::<Result<_, _>>()? })
}

/// Make the sockets of a call.
pub fn datagrams(session: &Session) -> Result<Datagrams, Failure> {
    let sender = bound(&session.send, session.port, SockType::Datagram)?;
    let receiver = bound(&session.receive, session.port, SockType::Datagram)?;
    setsockopt(&sender, sockopt::SndBufForce, &DATAGRAM_BUFFER_BYTES).during("SO_SNDBUFFORCE")?;
    setsockopt(&receiver, sockopt::RcvBufForce, &DATAGRAM_BUFFER_BYTES).during("SO_RCVBUFFORCE")?;
    Ok(Datagrams { sender, receiver })
}

/// Return the address of an end's socket.
pub fn address(end: &End, port: u16) -> SockaddrIn {
    SocketAddrV4::new(end.address, port).into()
}

fn stream(end: &End, port: u16) -> Result<OwnedFd, Failure> {
    let socket = bound(end, port, SockType::Stream)?;
    // Set the scheme at both ends, because the machine's default may be any. Accepted connections inherit it.
    setsockopt(&socket, sockopt::TcpCongestion, &end.scheme.clone().into())
        .during(format!("scheme {}", end.scheme))?;
    setsockopt(&socket, sockopt::TcpNoDelay, &true).during("TCP_NODELAY")?;
    Ok(socket)
}

fn bound(end: &End, port: u16, kind: SockType) -> Result<OwnedFd, Failure> {
    let place = end.network.display().to_string();
    let network = File::open(&end.network).during(place.as_str())?;
    setns(&network, CloneFlags::CLONE_NEWNET).during(place)?;
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    let socket = socket(AddressFamily::Inet, kind, flags, None).during("socket")?;
    bind(socket.as_raw_fd(), &address(end, port)).during(format!("bind to {}:{port}", end.address))?;
    Ok(socket)
}
