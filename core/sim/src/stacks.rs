//! Transports that are implemented elsewhere, as schemes.

use leo_transport::Stack;

use crate::scenario::{EcnSpec, FlowSpec};

/// What the schemes of QUIC stacks begin with.
const PREFIX: &str = "quic:";

/// The schemes of this build's QUIC stacks, each with a sentence.
#[cfg(feature = "quic")]
pub const STACK_SCHEMES: &[(&str, &str)] = &leo_stacks::SCHEMES;
/// The schemes of this build's QUIC stacks: none without the feature `quic`.
#[cfg(not(feature = "quic"))]
pub const STACK_SCHEMES: &[(&str, &str)] = &[];

/// Return whether a scheme is that of a QUIC stack which this build has.
pub fn is_stack(scheme: &str) -> bool {
    STACK_SCHEMES.iter().any(|(name, _)| *name == scheme)
}

/// Return whether a scheme is that of a QUIC stack which this build lacks.
pub fn is_missing(scheme: &str) -> bool {
    scheme.starts_with(PREFIX) && !is_stack(scheme)
}

/// Return both ends of a flow of the scheme; `None` if it is not that of a stack.
pub fn stack(scheme: &str, seed: u64, transfer_bytes: Option<u64>) -> Option<Box<dyn Stack>> {
    #[cfg(feature = "quic")]
    return leo_stacks::stack(scheme, seed, transfer_bytes);
    #[cfg(not(feature = "quic"))]
    {
        let _ = (scheme, seed, transfer_bytes);
        None
    }
}

/// Return the first field of a stack's flow that has no meaning there, with the reason.
pub fn unsupported(spec: &FlowSpec) -> Option<(&'static str, &'static str)> {
    [
        (spec.rate_mbps.is_some(), "rate_mbps", "a QUIC flow is backlogged or a transfer"),
        (spec.ecn != EcnSpec::Whether(false), "ecn", "QUIC stacks set it themselves"),
        (spec.tcp_rmem.is_some(), "tcp_rmem", "a QUIC stack has windows of its own"),
        (spec.tcp_wmem.is_some(), "tcp_wmem", "a QUIC stack has buffers of its own"),
        (spec.resume.is_some(), "resume", "the stack's connections begin anew"),
        (spec.workload.is_some(), "workload", "videos and pages need TCP, calls gcc or udp"),
    ]
    .into_iter()
    .find_map(|(is_set, field, rule)| is_set.then_some((field, rule)))
}
