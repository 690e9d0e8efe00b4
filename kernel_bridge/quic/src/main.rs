//! `leo-quinn` is one end of a flow over one QUIC stream with quinn.

mod arguments;
mod flow;
mod logs;

use std::process::ExitCode;

use arguments::Request;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let arguments = match arguments::parse(std::env::args_os().skip(1)) {
        Ok(Request::Help) => {
            println!("{}", arguments::HELP);
            return ExitCode::SUCCESS;
        }
        Ok(Request::Version) => {
            println!("{}", env!("QUINN"));
            return ExitCode::SUCCESS;
        }
        Ok(Request::Run(arguments)) => arguments,
        Err(error) => {
            eprintln!("leo-quinn: {error}");
            return ExitCode::from(2);
        }
    };
    match flow::run(&arguments).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("leo-quinn: {error}");
            ExitCode::FAILURE
        }
    }
}
