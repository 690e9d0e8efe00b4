//! What the programs of all stacks share: the command line, the logs, and the protocol of a flow.
//!
//! A flow is one bidirectional stream. The receiver opens it and sends a request: the number of bytes that it wants, in
//! eight bytes. The sender answers with that many, and closes the connection when all are acknowledged.

pub mod arguments;
pub mod logs;

use std::error::Error;
use std::process::ExitCode;

use arguments::{Arguments, Program, Request};
use tokio::signal::unix::{SignalKind, signal};

/// What both ends name in their handshake.
pub const PROTOCOL: &[u8] = b"leo-quic";
/// The bytes that a sender gives to its stack at a time.
pub const CHUNK_BYTES: usize = 1 << 16;

/// Why an end of a flow fails.
pub type Failure = Box<dyn Error + Send + Sync>;
/// How an end of a flow ends.
pub type Outcome = Result<(), Failure>;

/// Returns the sizes of the chunks that make up `bytes`.
pub fn chunks(bytes: u64) -> impl Iterator<Item = usize> {
    let mut left = bytes;
    std::iter::from_fn(move || {
        let length = usize::try_from(left).unwrap_or(CHUNK_BYTES).min(CHUNK_BYTES);
        left -= length as u64;
        (length > 0).then_some(length)
    })
}

/// Returns the outcome of an end of a flow, or success at SIGTERM.
///
/// # Errors
///
/// Those of the end.
pub async fn until_terminated(end: impl Future<Output = Outcome>) -> Outcome {
    let mut ends = signal(SignalKind::terminate())?;
    tokio::select! {
        outcome = end => outcome,
        _ = ends.recv() => Ok(()),
    }
}

/// Runs a stack's program with the process's command line.
pub async fn main(program: Program, run: impl AsyncFnOnce(&Arguments) -> Outcome) -> ExitCode {
    let name = program.name;
    let arguments = match arguments::parse(&program, std::env::args_os().skip(1)) {
        Ok(Request::Help) => {
            println!("{}", program.help());
            return ExitCode::SUCCESS;
        }
        Ok(Request::Version) => {
            println!("{}", program.version);
            return ExitCode::SUCCESS;
        }
        Ok(Request::Run(arguments)) => arguments,
        Err(error) => {
            eprintln!("{name}: {error}");
            return ExitCode::from(2);
        }
    };
    match run(&arguments).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{name}: {}", with_causes(&*error));
            ExitCode::FAILURE
        }
    }
}

/// Returns an error's line with those of its causes.
fn with_causes(error: &(dyn Error + 'static)) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        line = format!("{line}: {error}");
        cause = error.source();
    }
    line
}
