//! The socket's clients: who may connect, what they said, what waits for them.

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

/// What may wait for a client, in bytes: more than a second of reports of 200 flows. A client that lets more pile
/// up is not steering; it is dropped, and its flows fall back.
const MAX_WAITING: usize = 4 << 20;

/// Where a bridge listens. A path is removed with it.
#[derive(Debug)]
pub struct Listener {
    socket: UnixListener,
    path: Option<PathBuf>,
}

impl Listener {
    /// Listen at `name`: with an `@` before it a name in the network namespace's abstract space, which nobody has to
    /// clean up, else a path, which becomes `owner`'s alone. A path that a killed bridge left is taken over.
    ///
    /// # Errors
    /// As the kernel says.
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

    /// The next connection that waits.
    ///
    /// # Errors
    /// There is none, or as the kernel says.
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
            // Where the folder does not let us any more, the next bridge there takes it over.
            let _ = fs::remove_file(path);
        }
    }
}

fn bind(path: &Path) -> io::Result<UnixListener> {
    let left = || fs::metadata(path).is_ok_and(|file| file.file_type().is_socket());
    match UnixListener::bind(path) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse && left() => {
            match UnixStream::connect(path) {
                Err(refused) if refused.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path)?,
                _ => return Err(error),
            }
            UnixListener::bind(path)
        }
        result => result,
    }
}

/// Connect to a bridge that listens at `name`.
///
/// # Errors
/// As the kernel says.
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
    /// Take a connection if its user is root or one of `allowed`; else tell it so and let it go.
    ///
    /// # Errors
    /// The connection broke, or its user may not: one line.
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

    /// Its descriptor.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    /// Read what has come; `false` when the connection is over.
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

    /// The next whole line that was heard.
    pub fn line(&mut self) -> Option<Vec<u8>> {
        let end = self.heard.iter().position(|byte| *byte == b'\n')?;
        let rest = self.heard.split_off(end + 1);
        let mut line = std::mem::replace(&mut self.heard, rest);
        line.pop();
        Some(line)
    }

    /// Put a message behind those that wait.
    pub fn send(&mut self, message: &Message<'_>) {
        self.waiting.extend_from_slice(&message.line());
    }

    /// Write what waits as far as the client takes it; `false` when the connection is over or the client asleep.
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

    /// Whether something waits.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> (Client, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let me = nix::unistd::geteuid().as_raw();
        (Client::admit(ours, &[me]).unwrap(), theirs)
    }

    #[test]
    fn a_path_is_its_owners_alone_and_goes_with_the_bridge() {
        let path = std::env::temp_dir().join(format!("leo-bridge-test-{}", std::process::id()));
        let name = path.to_str().unwrap();
        let me = (nix::unistd::geteuid(), nix::unistd::getegid());
        // What a bridge leaves that was killed.
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
