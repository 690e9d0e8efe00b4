//! The command line.

use std::path::PathBuf;

/// What a program of a stack is.
pub struct Program {
    /// Its name.
    pub name: &'static str,
    /// The stack's name.
    pub stack: &'static str,
    /// The stack's version.
    pub version: &'static str,
    /// The stack's congestion controllers.
    pub schemes: &'static [&'static str],
}

impl Program {
    /// Returns what `--help` prints.
    pub fn help(&self) -> String {
        let Self { name, stack, schemes, .. } = self;
        format!(
            "\
{name} send --scheme SCHEME --port PORT --log DIR
{name} receive --scheme SCHEME --from HOST --port PORT --bytes N --log DIR

One flow over one QUIC stream with {stack}. The sender listens and sends what the first receiver asks for.
SCHEME is {}. tls.crt, tls.key and ca.crt are read from the working folder. The sender writes
DIR/sender.qlog, and both ends write DIR/progress: lines with the monotonic clock in ns and the total of bytes
that are acknowledged, or received. SIGTERM ends both.",
            listed(schemes)
        )
    }
}

fn listed(names: &[&str]) -> String {
    let (last, others) = names.split_last().expect("a scheme");
    if others.is_empty() { (*last).to_owned() } else { format!("{} or {last}", others.join(", ")) }
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
    pub scheme: &'static str,
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
pub fn parse(
    program: &Program,
    words: impl IntoIterator<Item = std::ffi::OsString>,
) -> Result<Request, lexopt::Error> {
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
                let known = program.schemes.iter().find(|known| **known == name);
                scheme = Some(
                    *known.ok_or_else(|| format!("--scheme: {name}: must be {}", listed(program.schemes)))?,
                );
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
