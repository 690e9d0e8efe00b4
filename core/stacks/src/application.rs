//! The two applications of a flow, as leo-quinn's: the receiver asks for bytes in eight bytes, and the sender sends them.

use bytes::Bytes;
use quinn_proto::{Connection, ConnectionError, Dir, Event, StreamEvent, StreamId, WriteError};

/// Bytes of a write.
const CHUNK_BYTES: usize = 1 << 16;
static ZEROS: [u8; CHUNK_BYTES] = [0; CHUNK_BYTES];
/// What the receiver of a backlogged flow asks for.
const BACKLOG_BYTES: u64 = 1_000_000_000_000;

/// An application over one stream.
#[derive(Debug)]
pub enum Application {
    /// Sends what the other end asks for.
    Server {
        /// The stream, once it is open.
        stream: Option<StreamId>,
        /// The part of the request that has arrived.
        request: Vec<u8>,
        /// Bytes that are left to write; none before the request.
        left: Option<u64>,
        /// Whether the other end has acknowledged everything.
        is_complete: bool,
    },
    /// Asks for bytes and reads them.
    Client {
        /// The bytes to ask for.
        bytes: u64,
        /// In-order bytes that have been read.
        delivered: u64,
    },
}

impl Application {
    pub const fn server() -> Self {
        Self::Server { stream: None, request: Vec::new(), left: None, is_complete: false }
    }

    pub const fn client(transfer_bytes: Option<u64>) -> Self {
        let bytes = match transfer_bytes {
            Some(bytes) => bytes,
            None => BACKLOG_BYTES,
        };
        Self::Client { bytes, delivered: 0 }
    }

    /// React to the connection's events; return whether there were any. If the connection is lost before the transfer is
    /// complete, put the reason into `lost`.
    pub fn run(&mut self, connection: &mut Connection, lost: &mut Option<ConnectionError>) -> bool {
        let mut has_run = false;
        while let Some(event) = connection.poll() {
            has_run = true;
            if let Event::ConnectionLost { reason } = event {
                // Connections without data time out.
                if !self.is_complete() {
                    *lost = Some(reason);
                }
                continue;
            }
            match self {
                Self::Client { bytes, delivered } => match event {
                    Event::Connected => ask(connection, *bytes),
                    Event::Stream(StreamEvent::Readable { id }) => {
                        read(connection, id, |chunk| *delivered += chunk.len() as u64);
                    }
                    _ => {}
                },
                Self::Server { stream, request, left, is_complete } => match event {
                    Event::Stream(StreamEvent::Opened { dir: Dir::Bi }) => {
                        *stream = connection.streams().accept(Dir::Bi);
                        if let Some(id) = *stream {
                            *left = hear(connection, id, request);
                            write(connection, id, left);
                        }
                    }
                    Event::Stream(StreamEvent::Readable { id }) if left.is_none() => {
                        *left = hear(connection, id, request);
                        write(connection, id, left);
                    }
                    Event::Stream(StreamEvent::Writable { id }) => write(connection, id, left),
                    Event::Stream(StreamEvent::Finished { .. }) => *is_complete = true,
                    _ => {}
                },
            }
        }
        has_run
    }

    /// Return whether this end has nothing more to do.
    pub const fn is_complete(&self) -> bool {
        match *self {
            Self::Server { is_complete, .. } => is_complete,
            Self::Client { bytes, delivered } => delivered == bytes,
        }
    }
}

/// Open the stream and ask for bytes.
fn ask(connection: &mut Connection, bytes: u64) {
    let Some(id) = connection.streams().open(Dir::Bi) else { return };
    let mut stream = connection.send_stream(id);
    let asked = stream.write(&bytes.to_be_bytes());
    debug_assert!(matches!(asked, Ok(8)), "a new stream has room for the request");
    let finished = stream.finish();
    debug_assert!(finished.is_ok(), "the stream is open");
}

/// Read the request; return the bytes that it asks for when it is whole.
fn hear(connection: &mut Connection, id: StreamId, request: &mut Vec<u8>) -> Option<u64> {
    read(connection, id, |chunk| request.extend_from_slice(chunk));
    request.first_chunk().map(|bytes| u64::from_be_bytes(*bytes))
}

fn read(connection: &mut Connection, id: StreamId, mut take: impl FnMut(&[u8])) {
    let mut stream = connection.recv_stream(id);
    let Ok(mut chunks) = stream.read(true) else { return };
    // `Err` means that nothing more has arrived: neither end resets the stream.
    while let Ok(Some(chunk)) = chunks.next(CHUNK_BYTES) {
        take(&chunk.bytes);
    }
    // Transmission follows in any case.
    let _ = chunks.finalize();
}

/// Write what is left, as far as there is room, and finish after the last byte.
fn write(connection: &mut Connection, id: StreamId, left: &mut Option<u64>) {
    let Some(bytes) = left.as_mut().filter(|bytes| **bytes > 0) else { return };
    let mut stream = connection.send_stream(id);
    while *bytes > 0 {
        let length = CHUNK_BYTES.min(usize::try_from(*bytes).unwrap_or(CHUNK_BYTES));
        match stream.write_chunks(&mut [Bytes::from_static(&ZEROS[..length])]) {
            Ok(written) => *bytes -= written.bytes as u64,
            Err(WriteError::Blocked | WriteError::Stopped(_) | WriteError::ClosedStream) => return,
        }
    }
    let finished = stream.finish();
    debug_assert!(finished.is_ok(), "the stream is open");
}
