//! `mm-leo` runs a command behind a link that replays a path trace with `core/link` on the machine's clock.
//!
//! Like mahimahi's shells (Netravali et al., USENIX ATC 2015), with which it nests, it runs the command in a
//! network namespace whose only exit is a TUN device, and carries packets between that and a device outside.

mod addresses;
mod alarm;
mod arguments;
mod clock;
mod datagram;
mod ferry;
mod impairment;
mod interface;
mod journal;
mod masquerade;
mod overruns;
mod report;
mod session;
mod shell;
mod sleep_debt;

use std::io::Write;
use std::process::ExitCode;

use arguments::Request;
use session::User;

/// Exit status of a wrong command line, as in other shells.
const USAGE: u8 = 2;
/// Exit status if the shell could not be set up, or failed.
const FAILED: u8 = 125;

fn main() -> ExitCode {
    let user = User::current();
    let arguments = match arguments::parse(std::env::args_os().skip(1)) {
        Ok(Request::Help) => {
            // A reader that closes the pipe has read enough.
            let _ = writeln!(std::io::stdout(), "{}", arguments::HELP);
            return ExitCode::SUCCESS;
        }
        Ok(Request::Run(arguments)) => arguments,
        Err(error) => {
            eprintln!("mm-leo: {error}");
            return ExitCode::from(USAGE);
        }
    };
    match shell::run(&arguments, user) {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            eprintln!("mm-leo: {error}");
            ExitCode::from(FAILED)
        }
    }
}
