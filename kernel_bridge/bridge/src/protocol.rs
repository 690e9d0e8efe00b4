//! What goes over the socket: one JSON object a line, each way. `README.md` describes it for clients.

use leo_control::Report;
use serde::{Deserialize, Serialize};

use crate::slot::{Flow, Mode};

/// Version of the protocol; a change that breaks clients raises it.
pub const VERSION: u32 = 1;

/// The longest request, in bytes. Requests are small; whoever sends more is not a client.
pub const MAX_REQUEST: usize = 4096;

/// A request.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// How the bridge is doing.
    Status,
    /// The open flows.
    Flows,
    /// From now on, reports of a scheme's flows, and their opening and closing.
    Subscribe {
        /// The scheme's name.
        scheme: String,
        /// Length of a monitor interval; only for an offered scheme.
        interval_ms: Option<f64>,
    },
    /// A window and a pacing rate for a flow of an offered scheme.
    Command {
        /// The flow.
        flow: u64,
        /// Congestion window, in packets; 0 leaves it.
        cwnd: u32,
        /// Pacing rate, in bytes/s; 0: unpaced.
        #[serde(default)]
        pacing_bytes_per_s: u64,
    },
    /// An announced handover explains the losses of a SaTCP flow from now on, for so long.
    Freeze {
        /// The flow.
        flow: u64,
        /// For how long.
        for_ms: f64,
    },
}

/// Largest window that a command may ask for: a socket's buffers end long before.
const MAX_CWND: u32 = 1_000_000;

impl Request {
    /// Parse one line.
    ///
    /// # Errors
    /// It is no request: one line.
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
    /// The request was carried out.
    Done,
    /// It was not, and why.
    Error {
        /// One line.
        reason: &'a str,
    },
    /// Answer to [`Request::Status`].
    Status {
        /// [`VERSION`].
        protocol: u32,
        /// Process of the bridge.
        pid: u32,
        /// User that it has become.
        uid: u32,
        /// What a report's values are, in their order.
        report_fields: [&'static str; Report::FIELDS.len()],
        /// Every scheme.
        schemes: Vec<SchemeStatus>,
    },
    /// Answer to [`Request::Flows`].
    Flows {
        /// The open ones.
        flows: Vec<FlowStatus>,
    },
    /// A flow of a subscribed scheme opened, or was open.
    Opened {
        /// The flow.
        flow: FlowStatus,
    },
    /// It closed.
    Closed {
        /// The flow.
        flow: u64,
    },
    /// An interval ended.
    Report {
        /// The flow.
        flow: u64,
        /// In the order of `Report::FIELDS`.
        values: [f64; Report::FIELDS.len()],
        /// From the interval's end until this message was written, in µs.
        late_us: u64,
    },
}

impl Message<'_> {
    /// The message as one line.
    #[must_use]
    pub fn line(&self) -> Vec<u8> {
        // Only maps with keys that are not strings, and failing implementations, cannot be written.
        let mut line = serde_json::to_vec(self).unwrap_or_default();
        line.push(b'\n');
        line
    }
}

/// One scheme, in [`Message::Status`].
#[derive(Clone, Debug, Serialize)]
pub struct SchemeStatus {
    /// What `TCP_CONGESTION` is set to.
    pub scheme: String,
    /// Who decides: policy, offered, scheme or program.
    pub controller: &'static str,
    /// Length of a monitor interval.
    pub interval_ms: f64,
    /// Open flows.
    pub flows: usize,
    /// Interval ends served.
    pub intervals: u64,
    /// Interval ends skipped for being a whole interval late.
    pub missed: u64,
    /// Why a run does not count whose flows these were, or none: decisions came too late.
    pub too_late: Option<String>,
    /// Commands overtaken by the next before the connection did anything.
    pub unapplied: u64,
    /// Times that flows fell back to Cubic, of flows that closed.
    pub fallbacks: u64,
    /// From an interval's end until the command was in the kernel's hands, in µs: median, 99 %, largest.
    pub commanded_us: [u64; 3],
    /// From an interval's end until the command took effect, in µs: median, 99 %, largest.
    pub applied_us: [u64; 3],
}

/// One flow.
#[derive(Clone, Debug, Serialize)]
pub struct FlowStatus {
    /// By which requests name it.
    pub flow: u64,
    /// Its scheme.
    pub scheme: String,
    /// This end.
    pub local: String,
    /// The other end.
    pub remote: String,
    /// Inode of its network namespace.
    pub netns: u32,
    /// `SO_COOKIE`, where somebody had asked for it before the connection, else 0.
    pub cookie: u64,
    /// User who owns the socket.
    pub uid: u32,
    /// `CLOCK_MONOTONIC` when it opened, from which its reports count time.
    pub opened_us: u64,
    /// Who sets the window: held, steered, fallen_back or its_own.
    pub mode: &'static str,
    /// Congestion window, in packets.
    pub cwnd: u32,
    /// Pacing rate in bytes/s; 0: unpaced.
    pub pacing_bytes_per_s: u64,
    /// Smoothed RTT.
    pub srtt_us: u32,
    /// Packets sent.
    pub sent: u32,
    /// Times that it fell back to Cubic.
    pub fallbacks: u32,
    /// Retransmission timeouts.
    pub timeouts: u32,
}

impl FlowStatus {
    /// Of the flow with that id.
    #[must_use]
    pub fn new(flow: u64, scheme: &str, counters: &Flow) -> Self {
        let plain = |address: std::net::SocketAddr| {
            std::net::SocketAddr::new(address.ip().to_canonical(), address.port()).to_string()
        };
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

/// A flow's id: scheme, generation and slot in one number below 2^53, which every JSON reader keeps exact.
#[must_use]
pub const fn flow_id(scheme: usize, generation: u32, slot: usize) -> u64 {
    (scheme as u64) << 42 | (generation as u64) << 10 | slot as u64
}

/// Scheme, generation and slot of a flow's id.
#[must_use]
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
