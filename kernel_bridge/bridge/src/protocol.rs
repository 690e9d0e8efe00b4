//! The socket's protocol: one JSON object a line in both directions. `README.md` describes it for clients.

use leo_control::Report;
use serde::{Deserialize, Serialize};

use crate::slot::{Flow, Mode};

/// Version of the protocol. Raise it with a change that breaks clients.
pub const VERSION: u32 = 1;

/// Longest request, in bytes.
pub const MAX_REQUEST: usize = 4096;

/// A request.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// Send the bridge's state.
    Status,
    /// List the open flows.
    Flows,
    /// Send reports of a scheme's flows, and their opening and closing, from now on.
    Subscribe {
        /// The scheme's name.
        scheme: String,
        /// Length of a monitor interval, in ms; only for an offered scheme.
        interval_ms: Option<f64>,
    },
    /// Set window and pacing rate of a flow of an offered scheme.
    Command {
        /// The flow.
        flow: u64,
        /// Congestion window, in packets; 0 leaves it unchanged.
        cwnd: u32,
        /// Pacing rate, in bytes/s; 0: unpaced.
        #[serde(default)]
        pacing_bytes_per_s: u64,
    },
    /// Have a SaTCP flow attribute its losses to an announced handover, from now on.
    Freeze {
        /// The flow.
        flow: u64,
        /// Duration, in ms.
        for_ms: f64,
    },
}

/// Largest window in a command; a socket's buffers are far smaller.
const MAX_CWND: u32 = 1_000_000;

impl Request {
    /// Parse and validate one line.
    pub fn parse(line: &[u8]) -> Result<Self, String> {
        let request: Self = serde_json::from_slice(line).map_err(|error| format!("request: {error}"))?;
        match &request {
            Self::Subscribe { interval_ms: Some(ms), .. } if !(1.0..=10_000.0).contains(ms) => {
                Err(format!("subscribe: interval_ms: must be within 1 and 10000, not {ms}"))
            }
            Self::Command { cwnd, .. } if *cwnd > MAX_CWND => {
                Err(format!("command: cwnd: must be within 0 and {MAX_CWND} packets, not {cwnd}"))
            }
            Self::Freeze { for_ms, .. } if !(0.0..=60_000.0).contains(for_ms) => {
                Err(format!("freeze: for_ms: must be within 0 and 60000, not {for_ms}"))
            }
            _ => Ok(request),
        }
    }
}

/// A reply or a message.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Message<'a> {
    /// The bridge carried out the request.
    Done,
    /// The bridge refused the request.
    Error {
        /// One line.
        reason: &'a str,
    },
    /// Answer to [`Request::Status`].
    Status {
        /// [`VERSION`].
        protocol: u32,
        /// Process id of the bridge.
        pid: u32,
        /// User as which it runs.
        uid: u32,
        /// Names of a report's values, in order.
        report_fields: [&'static str; Report::FIELDS.len()],
        /// Every scheme.
        schemes: Vec<SchemeStatus>,
    },
    /// Answer to [`Request::Flows`].
    Flows {
        /// The open flows.
        flows: Vec<FlowStatus>,
    },
    /// A flow of a subscribed scheme opened, or was open at subscription.
    Opened {
        /// The flow.
        flow: FlowStatus,
    },
    /// A flow closed.
    Closed {
        /// The flow.
        flow: u64,
    },
    /// A monitor interval ended.
    Report {
        /// The flow.
        flow: u64,
        /// In the order of `Report::FIELDS`.
        values: [f64; Report::FIELDS.len()],
        /// Time from the interval's end until it was served, in µs.
        late_us: u64,
    },
}

impl Message<'_> {
    /// Encode the message as one line.
    pub fn line(&self) -> Vec<u8> {
        // Fails only for maps with keys that are not strings and for failing implementations: none here.
        let mut line = serde_json::to_vec(self).unwrap_or_default();
        line.push(b'\n');
        line
    }
}

/// One scheme, in [`Message::Status`].
#[derive(Clone, Debug, Serialize)]
pub struct SchemeStatus {
    /// Its name for `TCP_CONGESTION`.
    pub scheme: String,
    /// The decider: policy, offered, scheme or program.
    pub controller: &'static str,
    /// Length of a monitor interval, in ms.
    pub interval_ms: f64,
    /// Open flows.
    pub flows: usize,
    /// Interval ends served.
    pub intervals: u64,
    /// Interval ends skipped because the bridge was late by an interval or more.
    pub missed: u64,
    /// Why a run with these flows is invalid (late decisions); none if it is valid.
    pub too_late: Option<String>,
    /// Commands replaced by the next one before they took effect.
    pub unapplied: u64,
    /// Number of fallbacks to Cubic for lack of commands, of closed flows.
    pub fallbacks: u64,
    /// Whether the policy names known ranges or a fallback, so that it may give flows to Cubic itself.
    pub guarded: bool,
    /// The latest closed flows that it gave to Cubic, with their remote address and how often.
    pub given_to_cubic: Vec<(String, u64)>,
    /// Time from an interval's end until the kernel had the command, in µs: median, 99th percentile, maximum.
    pub commanded_us: [u64; 3],
    /// Time from an interval's end until the command took effect, in µs: median, 99th percentile, maximum.
    pub applied_us: [u64; 3],
}

/// One flow.
#[derive(Clone, Debug, Serialize)]
pub struct FlowStatus {
    /// Its id in requests.
    pub flow: u64,
    /// Its scheme.
    pub scheme: String,
    /// Local address.
    pub local: String,
    /// Remote address.
    pub remote: String,
    /// Inode of its network namespace.
    pub netns: u32,
    /// `SO_COOKIE` if a process asked for it before the connection, else 0.
    pub cookie: u64,
    /// User who owns the socket.
    pub uid: u32,
    /// `CLOCK_MONOTONIC` when it opened, in µs: the origin of time in its reports.
    pub opened_us: u64,
    /// The window's source: held, steered, fallen_back or its_own.
    pub mode: &'static str,
    /// Congestion window, in packets.
    pub cwnd: u32,
    /// Pacing rate in bytes/s; 0: unpaced.
    pub pacing_bytes_per_s: u64,
    /// Smoothed RTT, in µs.
    pub srtt_us: u32,
    /// Packets sent.
    pub sent: u32,
    /// Number of fallbacks to Cubic.
    pub fallbacks: u32,
    /// Retransmission timeouts.
    pub timeouts: u32,
}

impl FlowStatus {
    /// Describe the flow with the id `flow`.
    pub fn new(flow: u64, scheme: &str, counters: &Flow) -> Self {
        Self {
            flow,
            scheme: scheme.to_owned(),
            local: plain(counters.local()),
            remote: plain(counters.remote()),
            netns: counters.netns,
            cookie: counters.cookie,
            uid: counters.uid,
            opened_us: counters.opened_us,
            mode: match counters.mode() {
                Mode::Held => "held",
                Mode::Steered => "steered",
                Mode::FallenBack => "fallen_back",
                Mode::ItsOwn => "its_own",
            },
            cwnd: counters.cwnd,
            pacing_bytes_per_s: if counters.pacing_rate == u64::MAX { 0 } else { counters.pacing_rate },
            srtt_us: counters.srtt_us_8 / 8,
            sent: counters.sent,
            fallbacks: counters.fallbacks,
            timeouts: counters.timeouts,
        }
    }
}

/// Write an address; one of IPv4 that IPv6 maps, as IPv4.
pub fn plain(address: std::net::SocketAddr) -> String {
    std::net::SocketAddr::new(address.ip().to_canonical(), address.port()).to_string()
}

/// Pack scheme, generation and slot into a flow's id, below 2^53, which every JSON reader keeps exact.
pub const fn flow_id(scheme: usize, generation: u32, slot: usize) -> u64 {
    (scheme as u64) << 42 | (generation as u64) << 10 | slot as u64
}

/// Unpack scheme, generation and slot from a flow's id.
pub const fn parts_of(flow: u64) -> (usize, u32, usize) {
    ((flow >> 42) as usize, (flow >> 10) as u32, (flow & 1023) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flows_id_gives_back_what_it_was_made_of() {
        for parts in [(0, 1, 0), (3, u32::MAX, 1023), (2047, 77, 512)] {
            let id = flow_id(parts.0, parts.1, parts.2);
            assert_eq!(parts_of(id), parts);
            assert!(id < 1 << 53);
        }
    }

    #[test]
    fn requests_are_told_apart_by_their_op() {
        let command = Request::parse(br#"{"op": "command", "flow": 7, "cwnd": 20, "pacing_bytes_per_s": 5}"#);
        assert_eq!(command, Ok(Request::Command { flow: 7, cwnd: 20, pacing_bytes_per_s: 5 }));
        assert_eq!(Request::parse(br#"{"op": "status"}"#), Ok(Request::Status));
        let subscribe = Request::parse(br#"{"op": "subscribe", "scheme": "leo_agent"}"#);
        assert_eq!(subscribe, Ok(Request::Subscribe { scheme: "leo_agent".to_owned(), interval_ms: None }));
    }

    #[test]
    fn what_is_no_request_is_answered_with_the_rule() {
        for (line, rule) in [
            ("", "request: EOF"),
            ("[1]", "request: "),
            (r#"{"op": "reboot"}"#, "request: unknown variant `reboot`"),
            (
                r#"{"op": "command", "flow": 1, "cwnd": 1000001}"#,
                "command: cwnd: must be within 0 and 1000000",
            ),
            (r#"{"op": "command", "flow": 1, "cwnd": 2, "colour": 1}"#, "request: unknown field `colour`"),
            (r#"{"op": "freeze", "flow": 1, "for_ms": -1}"#, "freeze: for_ms: must be within 0 and 60000"),
            (
                r#"{"op": "subscribe", "scheme": "a", "interval_ms": 0}"#,
                "subscribe: interval_ms: must be within",
            ),
        ] {
            let error = Request::parse(line.as_bytes()).unwrap_err();
            assert!(error.starts_with(rule), "{line}: {error}");
        }
    }

    #[test]
    fn a_message_is_one_line() {
        let line = Message::Error { reason: "two\nlines" }.line();
        assert_eq!(line, b"{\"op\":\"error\",\"reason\":\"two\\nlines\"}\n");
    }
}
