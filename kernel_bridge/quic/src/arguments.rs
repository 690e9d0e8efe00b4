//! The command line.

use std::path::PathBuf;

/// What `--help` prints.
pub const HELP: &str = "\
leo-quinn send --scheme SCHEME --port PORT --log DIR
leo-quinn receive --scheme SCHEME --from HOST --port PORT --bytes N --log DIR

One flow over one QUIC stream with quinn. The sender listens and sends what the first receiver asks for.
SCHEME is cubic, newreno or bbr. tls.crt, tls.key and ca.crt are read from the working folder. The sender writes
DIR/sender.qlog, and both ends write DIR/progress: lines with the monotonic clock in ns and the total of bytes
that are acknowledged, or received. SIGTERM ends both.";

/// A congestion controller of quinn.
#[derive(Clone, Copy)]
pub enum Scheme {
    /// RFC 9438.
    Cubic,
    /// RFC 9002.
    NewReno,
    /// quinn's BBR.
    Bbr,
}

/// An end of the flow.
pub enum End {
    /// Listens and sends.
    Sender,
    /// Connects, asks for bytes and receives them.
    Receiver {
        /// The sender's host.
        host: String,
        /// The bytes to ask for.
        bytes: u64,
    },
}

/// A flow's end with its settings.
pub struct Arguments {
    /// Which end.
    pub end: End,
    /// Its congestion controller.
    pub scheme: Scheme,
    /// The sender's UDP port.
    pub port: u16,
    /// The folder of its logs.
    pub log: PathBuf,
}

/// What the command line asks for.
pub enum Request {
    /// `--help`.
    Help,
    /// `--version`.
    Version,
    /// A flow's end.
    Run(Arguments),
}

/// Parses the command line.
///
/// # Errors
///
/// A line that says what is wrong.
pub fn parse(words: impl IntoIterator<Item = std::ffi::OsString>) -> Result<Request, lexopt::Error> {
    use lexopt::prelude::*;
    let mut parser = lexopt::Parser::from_args(words);
    let (mut command, mut scheme, mut port, mut log, mut host, mut bytes) =
        (None, None, None, None, None, None);
    while let Some(argument) = parser.next()? {
        match argument {
            Long("help") => return Ok(Request::Help),
            Long("version") => return Ok(Request::Version),
            Long("scheme") => {
                let name = parser.value()?.string()?;
                scheme = Some(match name.as_str() {
                    "cubic" => Scheme::Cubic,
                    "newreno" => Scheme::NewReno,
                    "bbr" => Scheme::Bbr,
                    _ => return Err(format!("--scheme: {name}: must be cubic, newreno or bbr").into()),
                });
            }
            Long("port") => port = Some(parser.value()?.parse()?),
            Long("log") => log = Some(parser.value()?.into()),
            Long("from") => host = Some(parser.value()?.string()?),
            Long("bytes") => bytes = Some(parser.value()?.parse()?),
            Value(word) if command.is_none() => command = Some(word.string()?),
            _ => return Err(argument.unexpected()),
        }
    }
    let needs = |name: &str| lexopt::Error::from(format!("{name} is missing"));
    let end = match command.as_deref() {
        Some("send") => End::Sender,
        Some("receive") => End::Receiver {
            host: host.ok_or_else(|| needs("--from"))?,
            bytes: bytes.ok_or_else(|| needs("--bytes"))?,
        },
        _ => return Err("the command must be send or receive".into()),
    };
    Ok(Request::Run(Arguments {
        end,
        scheme: scheme.ok_or_else(|| needs("--scheme"))?,
        port: port.ok_or_else(|| needs("--port"))?,
        log: log.ok_or_else(|| needs("--log"))?,
    }))
}
