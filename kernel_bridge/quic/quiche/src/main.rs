//! `leo-quiche` is one end of a flow over one QUIC stream with quiche.

mod endpoint;
mod flow;

use std::process::ExitCode;

use leo_quic::arguments::Program;

const PROGRAM: Program = Program {
    name: "leo-quiche",
    stack: "quiche",
    version: concat!(env!("QUICHE"), " (boring ", env!("BORING"), ")"),
    schemes: &["cubic", "reno", "bbr2"],
};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    leo_quic::main(PROGRAM, flow::run).await
}
