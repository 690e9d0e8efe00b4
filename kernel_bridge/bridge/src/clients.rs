//! The socket's clients: access control, received requests and messages to send.

use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{FileTypeExt, PermissionsExt, chown};
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use nix::unistd::{Gid, Uid};

use crate::protocol::{MAX_REQUEST, Message};

/// Limit of unsent bytes per client: more than a second of reports from 200 flows. The bridge drops a client
/// above it, because such a client no longer steers; its flows fall back.
const MAX_WAITING: usize = 4 << 20;

/// The socket on which a bridge listens. Dropping it removes its path, if it has one.
#[derive(Debug)]
pub struct Listener {
    socket: UnixListener,
    path: Option<PathBuf>,
}

impl Listener {
    /// Listen at `name`: after an `@`, an abstract name in the network namespace, which needs no cleaning up;
    /// else a path that only `owner` may access. A path that a killed bridge left is replaced.
    pub fn new(name: &str, owner: (Uid, Gid)) -> io::Result<Self> {
        let (socket, path) = match name.strip_prefix('@') {
            Some(name) => (UnixListener::bind_addr(&SocketAddr::from_abstract_name(name)?)?, None),
            None => (bind(Path::new(name))?, Some(PathBuf::from(name))),
        };
        let listener = Self { socket, path };
        listener.socket.set_nonblocking(true)?;
        if let Some(path) = &listener.path {
            fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
            chown(path, Some(owner.0.as_raw()), Some(owner.1.as_raw()))?;
        }
        Ok(listener)
    }

    /// Accept the next waiting connection without blocking.
    pub fn accept(&self) -> io::Result<UnixStream> {
        self.socket.accept().map(|(stream, _)| stream)
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            // If this fails (the process is no longer root), the next bridge at this path replaces the file.
            let _ = fs::remove_file(path);
        }
    }
}

fn bind(path: &Path) -> io::Result<UnixListener> {
    let is_socket = || fs::metadata(path).is_ok_and(|file| file.file_type().is_socket());
    match UnixListener::bind(path) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse && is_socket() => {
            match UnixStream::connect(path) {
                Err(refused) if refused.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path)?,
                _ => return Err(error),
            }
            UnixListener::bind(path)
        }
        result => result,
    }
}

/// Connect to the bridge that listens at `name`.
pub fn connect(name: &str) -> io::Result<UnixStream> {
    match name.strip_prefix('@') {
        Some(name) => UnixStream::connect_addr(&SocketAddr::from_abstract_name(name)?),
        None => UnixStream::connect(name),
    }
}

/// One connection.
#[derive(Debug)]
pub struct Client {
    stream: UnixStream,
    heard: Vec<u8>,
    waiting: Vec<u8>,
    /// Index of each scheme it subscribed to.
    pub subscriptions: Vec<usize>,
}

impl Client {
    /// Admit a connection whose user is root or in `allowed`; send any other user the reason and fail.
    pub fn admit(stream: UnixStream, allowed: &[u32]) -> Result<Self, String> {
        stream.set_nonblocking(true).map_err(|error| error.to_string())?;
        let peer =
            getsockopt(&stream, PeerCredentials).map_err(|error| format!("peer credentials: {error}"))?;
        let mut client = Self { stream, heard: Vec::new(), waiting: Vec::new(), subscriptions: Vec::new() };
        if peer.uid() != 0 && !allowed.contains(&peer.uid()) {
            let reason =
                format!("user {} may not use this bridge: start your own, or be named by --user", peer.uid());
            client.send(&Message::Error { reason: &reason });
            client.flush();
            return Err(reason);
        }
        Ok(client)
    }

    /// The connection's descriptor.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    /// Read all available bytes; `false` when the connection ended or a request is too long.
    pub fn hear(&mut self) -> bool {
        let mut buffer = [0; 4096];
        loop {
            match self.stream.read(&mut buffer) {
                Ok(0) => return false,
                Ok(n) => self.heard.extend_from_slice(&buffer[..n]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
            if self.heard.len() > 16 * MAX_REQUEST {
                break;
            }
        }
        self.heard.iter().take(MAX_REQUEST + 1).any(|byte| *byte == b'\n') || self.heard.len() <= MAX_REQUEST
    }

    /// Return the next complete line.
    pub fn line(&mut self) -> Option<Vec<u8>> {
        let end = self.heard.iter().position(|byte| *byte == b'\n')?;
        let later_lines = self.heard.split_off(end + 1);
        let mut line = std::mem::replace(&mut self.heard, later_lines);
        line.pop();
        Some(line)
    }

    /// Queue a message.
    pub fn send(&mut self, message: &Message<'_>) {
        self.waiting.extend_from_slice(&message.line());
    }

    /// Write queued messages without blocking; `false` when the connection ended or too much is queued.
    pub fn flush(&mut self) -> bool {
        while !self.waiting.is_empty() {
            match self.stream.write(&self.waiting) {
                Ok(n) => drop(self.waiting.drain(..n)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
        }
        self.waiting.len() <= MAX_WAITING
    }

    /// Whether messages are queued.
    pub fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> (Client, UnixStream) {
        let (daemon_end, client_end) = UnixStream::pair().unwrap();
        let me = nix::unistd::geteuid().as_raw();
        (Client::admit(daemon_end, &[me]).unwrap(), client_end)
    }

    #[test]
    fn a_path_is_its_owners_alone_and_goes_with_the_bridge() {
        let path = std::env::temp_dir().join(format!("leo-bridge-test-{}", std::process::id()));
        let name = path.to_str().unwrap();
        let me = (nix::unistd::geteuid(), nix::unistd::getegid());
        // The file that a killed bridge leaves behind.
        drop(UnixListener::bind(&path).unwrap());
        let listener = Listener::new(name, me).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let second = Listener::new(name, me).unwrap_err();
        assert_eq!(second.kind(), io::ErrorKind::AddrInUse);
        drop(listener);
        assert!(!path.exists());
    }

    #[test]
    fn lines_come_out_whole_however_they_came_in() {
        let (mut client, mut other) = pair();
        other.write_all(b"one\ntw").unwrap();
        assert!(client.hear());
        assert_eq!((client.line(), client.line()), (Some(b"one".to_vec()), None));
        other.write_all(b"o\n\n").unwrap();
        assert!(client.hear());
        assert_eq!(
            (client.line(), client.line(), client.line()),
            (Some(b"two".to_vec()), Some(vec![]), None)
        );
    }

    #[test]
    fn a_client_that_never_ends_its_line_is_dropped() {
        let (mut client, mut other) = pair();
        other.write_all(&[b'x'; MAX_REQUEST + 1]).unwrap();
        assert!(!client.hear());
    }

    #[test]
    fn a_client_that_does_not_read_is_dropped_in_the_end() {
        let (mut client, _other) = pair();
        let reason = "x".repeat(1 << 20);
        let dropped = (0..16).any(|_| {
            client.send(&Message::Error { reason: &reason });
            !client.flush()
        });
        assert!(dropped);
    }

    #[test]
    fn a_connection_that_ended_is_noticed() {
        let (mut client, other) = pair();
        drop(other);
        assert!(!client.hear());
    }
}
