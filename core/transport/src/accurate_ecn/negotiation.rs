//! Agreement of two ends, by the TCP flags of SYN and SYN/ACK (RFC 9768 §3.1).

use leo_cc::EcnMode;

/// AE, CWR and ECE.
type Flags = (bool, bool, bool);

const NOT_ECN: Flags = (false, false, false);
/// RFC 3168 §6.1.1: an ECN-setup SYN has CWR and ECE set, an ECN-setup SYN/ACK only ECE.
const CLASSIC_SYN: Flags = (false, true, true);
const CLASSIC_SYN_ACK: Flags = (false, false, true);
/// RFC 9768 §3.1.1: "(AE,CWR,ECE) = (1,1,1)"; the SYN/ACK says with which ECN bits that SYN came, here Not-ECT.
const ACCURATE_SYN: Flags = (true, true, true);
const ACCURATE_SYN_ACK: Flags = (false, true, false);

/// Return the feedback that a client and a server use which support these at most.
pub const fn negotiate(client: EcnMode, server: EcnMode) -> EcnMode {
    client_mode(client, syn_ack(server, syn(client)))
}

const fn syn(client: EcnMode) -> Flags {
    match client {
        EcnMode::Off => NOT_ECN,
        EcnMode::Classic => CLASSIC_SYN,
        EcnMode::Accurate => ACCURATE_SYN,
    }
}

/// RFC 9768 §3.1.2: a server that only knows RFC 3168 looks at CWR and ECE alone, and one that knows both answers an
/// ECN-setup SYN with an ECN-setup SYN/ACK.
const fn syn_ack(server: EcnMode, (accurate, reduced, echo): Flags) -> Flags {
    match server {
        EcnMode::Accurate if accurate && reduced && echo => ACCURATE_SYN_ACK,
        EcnMode::Accurate | EcnMode::Classic if reduced && echo => CLASSIC_SYN_ACK,
        _ => NOT_ECN,
    }
}

/// RFC 9768 §3.1.2, Table 2: the client's mode by the SYN/ACK.
const fn client_mode(client: EcnMode, syn_ack: Flags) -> EcnMode {
    match (client, syn_ack) {
        (EcnMode::Accurate, ACCURATE_SYN_ACK) => EcnMode::Accurate,
        (EcnMode::Accurate | EcnMode::Classic, CLASSIC_SYN_ACK) => EcnMode::Classic,
        _ => EcnMode::Off,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_ends_use_the_best_feedback_that_both_support() {
        // RFC 9768 §3.1.2, Table 2: "AccECN" with AccECN, "Classic ECN" with RFC 3168, "Not ECN" otherwise.
        const ALL: [EcnMode; 3] = [EcnMode::Off, EcnMode::Classic, EcnMode::Accurate];
        for (first, client) in ALL.into_iter().enumerate() {
            for (second, server) in ALL.into_iter().enumerate() {
                assert_eq!(negotiate(client, server), ALL[first.min(second)], "{client:?} {server:?}");
            }
        }
    }

    #[test]
    fn flags_that_a_server_reflects_are_not_taken_for_an_answer() {
        // RFC 9768 §3.1.2: "(AE,CWR,ECE) = (1,1,1)" on a SYN/ACK is a broken server: Not ECN.
        assert_eq!(client_mode(EcnMode::Accurate, ACCURATE_SYN), EcnMode::Off);
        assert_eq!(client_mode(EcnMode::Classic, CLASSIC_SYN), EcnMode::Off);
    }
}
