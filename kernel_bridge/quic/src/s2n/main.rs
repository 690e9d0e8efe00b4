//! `leo-s2n` is one end of a flow over one QUIC stream with s2n-quic.

mod flow;
mod qlog;

use std::process::ExitCode;

use leo_quic::arguments::Program;

const PROGRAM: Program =
    Program { name: "leo-s2n", stack: "s2n-quic", version: env!("S2N_QUIC"), schemes: &["cubic", "bbr"] };

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    leo_quic::main(PROGRAM, flow::run).await
}
