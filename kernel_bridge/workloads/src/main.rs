//! `leo-app` runs both ends of a flow with a workload, over the kernel's TCP or UDP.
//!
//! ```text
//! leo-app SESSION
//! ```
//!
//! SESSION is the JSON of a [`session::Session`]. The program starts as root, makes its sockets in the network namespaces of
//! the two ends, and gives up root before the first packet. It prints "ready" on standard output and reads the run's
//! origin, in ns of the monotonic clock, from standard input; all other times count from it. At its end it prints a
//! [`report::Report`] as JSON on standard error.
//!
//! Both ends are one process, so they share a clock and know the content of each other's messages, as in the simulator.
//! SIGTERM ends the program as the flow's stop does.

mod awake;
mod calling;
mod clock;
mod log;
mod report;
mod requesting;
mod session;
mod sockets;

use std::io::Write;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use leo_workload::{Client, Page, Player, WorkloadSpec};
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};

use clock::Clock;
use report::Report;
use session::Session;

/// Exit status of a wrong command line, as in other programs.
const USAGE: u8 = 2;
/// Exit status if the parent has ended.
const ORPHANED: u8 = 3;

static IS_TERMINATED: AtomicBool = AtomicBool::new(false);

/// What makes the program fail.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("{0}")]
    Usage(String),
    #[error("the parent has ended")]
    Orphaned,
    #[error("{0}: {1}")]
    Io(String, std::io::Error),
}

trait During<T> {
    /// Say during what an error happened.
    fn during(self, what: impl Into<String>) -> Result<T, Failure>;
}

impl<T, E: Into<std::io::Error>> During<T> for Result<T, E> {
    fn during(self, what: impl Into<String>) -> Result<T, Failure> {
        self.map_err(|error| Failure::Io(what.into(), error.into()))
    }
}

const USAGE_TEXT: &str = "usage: leo-app SESSION
Run a video, a page load or a call over real sockets. SESSION is JSON that LeoGym writes; see `leogym evaluate --help`.";

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some("--help") {
        println!("{USAGE_TEXT}");
        return ExitCode::SUCCESS;
    }
    match run() {
        Ok(report) => {
            eprintln!("{}", serde_json::json!(report));
            ExitCode::SUCCESS
        }
        Err(failure) => {
            eprintln!("leo-app: {failure}");
            ExitCode::from(match failure {
                Failure::Usage(_) => USAGE,
                Failure::Orphaned => ORPHANED,
                Failure::Io(..) => 1,
            })
        }
    }
}

fn run() -> Result<Report, Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [text] = &words[..] else { return Err(Failure::Usage("usage: leo-app SESSION".to_owned())) };
    let session: Session =
        serde_json::from_str(text).map_err(|error| Failure::Usage(format!("SESSION: {error}")))?;
    match session.workload.clone() {
        WorkloadSpec::Video(video) => requesting::run(&session, Client::Video(Player::new(video))),
        WorkloadSpec::Page(page) => requesting::run(&session, Client::Page(Page::new(page))),
        WorkloadSpec::Call(call) => calling::run(&session, call),
    }
}

/// Give up root, and return once the run begins and the flow's start has come.
fn begin(session: &Session) -> Result<Clock, Failure> {
    session.give_up_root().during("giving up root")?;
    awake::keep_awake();
    let action = SigAction::new(SigHandler::Handler(terminate), SaFlags::empty(), SigSet::empty());
    // SAFETY: the handler only stores to an atomic.
    unsafe { sigaction(Signal::SIGTERM, &action) }.during("SIGTERM")?;
    println!("ready");
    std::io::stdout().flush().during("standard output")?;
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).during("standard input")?;
    let origin = line.trim().parse().map_err(|_| Failure::Orphaned)?;
    let mut clock = Clock::new(origin);
    clock.sleep_until(session.start_ns);
    clock.note_late(session.start_ns);
    Ok(clock)
}

extern "C" fn terminate(_: libc::c_int) {
    IS_TERMINATED.store(true, Ordering::Relaxed);
}

/// Whether SIGTERM has come.
fn is_terminated() -> bool {
    IS_TERMINATED.load(Ordering::Relaxed)
}
