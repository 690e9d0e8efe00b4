//! A connection's socket and timer, as quiche leaves both to its application.

#![expect(clippy::disallowed_types, clippy::disallowed_methods, reason = "quiche's times are instants")]

use std::io::{self, IoSliceMut};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::time::{Duration, Instant};

use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use quiche::{Connection, Error, RecvInfo};
use quinn_udp::{RecvMeta, Transmit, UdpSocketState};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::net::UdpSocket;

use leo_quic::{Failure, Outcome};

/// The largest UDP payload, as in quiche's own programs.
pub const PACKET_BYTES: usize = 1350;
/// What one system call sends or receives at most.
const BURST_BYTES: usize = 1 << 16;
/// Packets that quiche releases within this time go out together, as in its own event loop.
const SAME_RELEASE: Duration = Duration::from_micros(50);

/// A socket with its buffers, and a timer of nanoseconds: tokio's has milliseconds, which are too coarse for pacing.
pub struct Endpoint {
    socket: UdpSocket,
    offload: UdpSocketState,
    timer: AsyncFd<Timer>,
    /// The socket's own address.
    pub local: SocketAddr,
    received: Vec<u8>,
    sent: Vec<u8>,
}

struct Timer(TimerFd);

impl AsRawFd for Timer {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_fd().as_raw_fd()
    }
}

impl Endpoint {
    /// Binds a socket; port 0 is any.
    pub fn bind(port: u16) -> io::Result<Self> {
        let socket = std::net::UdpSocket::bind((Ipv4Addr::UNSPECIFIED, port))?;
        let offload = UdpSocketState::new((&socket).into())?;
        let socket = UdpSocket::from_std(socket)?;
        let timer = Timer(TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_NONBLOCK)?);
        #[expect(
            deprecated,
            reason = "its successor is unsafe for a timer that closes its descriptor; this one does not"
        )]
        let timer = AsyncFd::with_interest(timer, Interest::READABLE)?;
        Ok(Self {
            local: socket.local_addr()?,
            socket,
            offload,
            timer,
            received: vec![0; BURST_BYTES],
            sent: vec![0; BURST_BYTES],
        })
    }

    /// Waits for a packet, and returns its sender.
    pub async fn first_peer(&self) -> io::Result<SocketAddr> {
        Ok(self.socket.peek_from(&mut [0]).await?.1)
    }

    /// Sends what the connection has to send, and waits for packets or the connection's timer.
    pub async fn exchange(&mut self, connection: &mut Connection) -> Outcome {
        let paused = self.transmit(connection).await?;
        let deadline = paused.into_iter().chain(connection.timeout_instant()).min();
        self.set_timer(deadline)?;
        tokio::select! {
            biased;
            ready = self.socket.readable() => {
                ready?;
                self.receive(connection)?;
            }
            expired = self.timer.readable() => expired?.clear_ready(),
        }
        // Does nothing before its time.
        connection.on_timeout();
        Ok(())
    }

    /// Sends packets until the connection has none, or until its pacer pauses it: then returns the pause's end.
    async fn transmit(&mut self, connection: &mut Connection) -> Result<Option<Instant>, Failure> {
        loop {
            let most = (self.offload.max_gso_segments() * PACKET_BYTES).min(BURST_BYTES);
            let limit = connection.send_quantum().clamp(PACKET_BYTES, most);
            let (mut length, mut to, mut paused) = (0, None, None);
            while length + PACKET_BYTES <= limit {
                paused = pause(connection);
                if paused.is_some() {
                    break;
                }
                match connection.send(&mut self.sent[length..][..PACKET_BYTES]) {
                    Ok((packet, info)) => {
                        length += packet;
                        to = Some(info.to);
                        // Of the packets that the kernel separates, only the last may be smaller.
                        if packet < PACKET_BYTES {
                            break;
                        }
                    }
                    Err(Error::Done) => break,
                    Err(error) => return Err(error.into()),
                }
            }
            let Some(destination) = to else { return Ok(paused) };
            let transmit = Transmit {
                destination,
                ecn: None,
                contents: &self.sent[..length],
                segment_size: (length > PACKET_BYTES).then_some(PACKET_BYTES),
                src_ip: None,
            };
            let socket = &self.socket;
            socket.async_io(Interest::WRITABLE, || self.offload.send(socket.into(), &transmit)).await?;
        }
    }

    /// Gives the connection all packets that have arrived.
    fn receive(&mut self, connection: &mut Connection) -> io::Result<()> {
        let (socket, offload) = (&self.socket, &self.offload);
        let mut meta = [RecvMeta::default()];
        loop {
            let mut buffers = [IoSliceMut::new(&mut self.received)];
            match socket.try_io(Interest::READABLE, || offload.recv(socket.into(), &mut buffers, &mut meta)) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
            let [RecvMeta { addr: from, len, stride, .. }] = meta;
            for packet in self.received[..len].chunks_mut(stride) {
                // Errors that matter close the connection.
                let _ = connection.recv(packet, RecvInfo { from, to: self.local });
            }
        }
    }

    fn set_timer(&self, at: Option<Instant>) -> nix::Result<()> {
        let timer = &self.timer.get_ref().0;
        match at {
            // Zero would stop the timer.
            Some(at) => {
                let left = at.saturating_duration_since(Instant::now()).max(Duration::from_nanos(1));
                timer.set(Expiration::OneShot(left.into()), TimerSetTimeFlags::empty())
            }
            None => timer.unset(),
        }
    }
}

/// Returns when the connection's pacer releases its next packet; None if now.
fn pause(connection: &Connection) -> Option<Instant> {
    let release = connection.get_next_release_time()?;
    let at = release.time(Instant::now() + SAME_RELEASE)?;
    (!release.can_burst()).then_some(at - SAME_RELEASE)
}
