//! `leo-quinn` is one end of a flow over one QUIC stream with quinn.

mod flow;

use std::process::ExitCode;

use leo_quic::arguments::Program;

const PROGRAM: Program = Program {
    name: "leo-quinn",
    stack: "quinn",
    version: concat!(env!("QUINN"), " (quinn-proto ", env!("QUINN_PROTO"), ")"),
    schemes: &["cubic", "newreno", "bbr"],
};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    leo_quic::main(PROGRAM, flow::run).await
}
