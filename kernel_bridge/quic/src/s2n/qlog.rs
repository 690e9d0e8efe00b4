//! A sender's qlog (draft-ietf-quic-qlog-main-schema), from the events of s2n-quic, which writes none.

use std::io::{self, Write};

use leo_quic::logs::{SharedFile, monotonic_ns};
use s2n_quic::provider::event::events::{PacketLost, PacketReceived, PacketSent, RecoveryMetrics};
use s2n_quic::provider::event::{ConnectionInfo, ConnectionMeta, Subscriber};

/// Writes the events of the only connection, without frames. Times are those at which s2n-quic reports them.
pub struct Qlog {
    file: SharedFile,
    start_ns: i64,
}

impl Qlog {
    /// Begins the log.
    pub fn new(mut file: SharedFile) -> io::Result<Self> {
        file.write_all(
            b"\x1e{\"qlog_version\":\"0.3\",\"qlog_format\":\"JSON-SEQ\",\"trace\":{\"vantage_point\":{\"type\":\"server\"}}}\n",
        )?;
        Ok(Self { file, start_ns: monotonic_ns()? })
    }

    fn write(&mut self, name: &str, data: std::fmt::Arguments<'_>) {
        let time_ms = (monotonic_ns().expect("a clock") - self.start_ns) as f64 * 1e-6;
        // A full disk ends the log, and its reader says so.
        let _ = writeln!(self.file, "\x1e{{\"time\":{time_ms:.6},\"name\":\"{name}\",\"data\":{{{data}}}}}");
    }
}

impl Subscriber for Qlog {
    type ConnectionContext = ();

    fn create_connection_context(&mut self, _: &ConnectionMeta, _: &ConnectionInfo) {}

    fn on_packet_sent(&mut self, _: &mut (), _: &ConnectionMeta, event: &PacketSent) {
        self.write("transport:packet_sent", format_args!("\"raw\":{{\"length\":{}}}", event.packet_len));
    }

    fn on_packet_received(&mut self, _: &mut (), _: &ConnectionMeta, _: &PacketReceived) {
        self.write("transport:packet_received", format_args!(""));
    }

    fn on_packet_lost(&mut self, _: &mut (), _: &ConnectionMeta, event: &PacketLost) {
        self.write("recovery:packet_lost", format_args!("\"raw\":{{\"length\":{}}}", event.bytes_lost));
    }

    fn on_recovery_metrics(&mut self, _: &mut (), _: &ConnectionMeta, event: &RecoveryMetrics) {
        let RecoveryMetrics { latest_rtt, congestion_window, bytes_in_flight, pto_count, .. } = event;
        let rtt_ms = latest_rtt.as_secs_f64() * 1e3;
        self.write(
            "recovery:metrics_updated",
            format_args!(
                "\"latest_rtt\":{rtt_ms:.6},\"congestion_window\":{congestion_window},\
                 \"bytes_in_flight\":{bytes_in_flight},\"pto_count\":{pto_count}"
            ),
        );
    }
}
