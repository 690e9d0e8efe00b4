//! The columns of the run log with units and meanings, defined once for all backends and the docs.

/// A column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Name, with the unit as suffix.
    pub name: &'static str,
    /// Unit; empty for names, indices and ratios.
    pub unit: &'static str,
    /// Description.
    pub meaning: &'static str,
}

/// A value of a summary, or a column of a series.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "each variant is what its type says")]
pub enum Cell {
    Text(String),
    Float(f64),
    Count(u64),
    OptionalFloat(Option<f64>),
    OptionalCount(Option<u64>),
    Floats(Vec<f64>),
    Counts(Vec<u32>),
    Flags(Vec<bool>),
}

macro_rules! cells {
    ($($type:ty => $variant:ident),+ $(,)?) => {
        $(impl From<$type> for Cell {
            fn from(value: $type) -> Self {
                Self::$variant(value)
            }
        })+
    };
}

cells! {
    String => Text, f64 => Float, u64 => Count, Option<f64> => OptionalFloat, Option<u64> => OptionalCount,
    Vec<f64> => Floats, Vec<u32> => Counts, Vec<bool> => Flags,
}

macro_rules! table {
    ($(#[$about:meta])* $table:ident { $($column:ident: $type:ty, $unit:literal, $meaning:literal;)+ }) => {
        $(#[$about])*
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $table {
            $(#[doc = $meaning] pub $column: $type,)+
        }

        impl $table {
            /// The table's columns.
            pub const COLUMNS: &'static [Column] =
                &[$(Column { name: stringify!($column), unit: $unit, meaning: $meaning },)+];

            /// Iterate over the columns' names and values.
            pub fn cells(self) -> impl Iterator<Item = (&'static str, Cell)> {
                [$((stringify!($column), Cell::from(self.$column)),)+].into_iter()
            }
        }
    };
}

table! {
    /// The summary of one flow.
    FlowSummary {
        flow: u64, "", "index of the flow in the run";
        scheme: String, "", "name of the scheme";
        start_s: f64, "s", "when the flow starts";
        stop_s: f64, "s", "when it stops, or when the run ends";
        goodput_mbps: f64, "Mbit/s",
            "new in-order bytes given to the receiving application, per second between the flow's start and stop";
        capacity_mbps: f64, "Mbit/s",
            "mean of what the bottleneck of the route could carry in that time, in IP packets of 1,500 bytes; outages count as zero";
        normalized_goodput: f64, "",
            "goodput over the payload that the bottleneck could carry: capacity × 1,448 / 1,500. A flow alone can reach 1";
        rtt_mean_ms: f64, "ms",
            "mean of the RTT samples that Linux smooths: one per acknowledgement, of the first packet that it newly covers, so that the receiver's acknowledgement delay counts; if that packet was retransmitted, from the echoed timestamp";
        rtt_p95_ms: f64, "ms",
            "95th percentile of the same samples, from a histogram with a relative error below 0.4 %";
        base_rtt_mean_ms: f64, "ms",
            "propagation both ways without queueing, averaged over the RTT samples. The simulator adds up the propagation of the packet and of its acknowledgement on each link";
        delay_inflation: f64, "", "mean over RTT samples of RTT / base RTT at the sample's time; 1 is perfect";
        loss_rate: f64, "", "packets deemed lost over packets sent";
        retransmit_rate: f64, "", "packets retransmitted over packets sent";
        power: f64, "", "normalized goodput / delay inflation; 1 is the physical limit";
        sent_packets: u64, "packets", "packets sent, retransmissions included";
        delivered_packets: u64, "packets", "new in-order packets given to the receiving application";
        retransmitted_packets: u64, "packets", "packets retransmitted";
        lost_packets: u64, "packets", "packets deemed lost";
        rtos: u64, "", "retransmission timeouts";
        transfer_bytes: Option<u64>, "bytes", "size of the transfer; none for a backlogged flow";
        completion_s: Option<f64>, "s",
            "flow completion time of a transfer: from its start, including a handshake, to the acknowledgement of its last byte; none if it does not complete";
    }
}

table! {
    /// The summary of one link; offered = delivered + dropped + lost + queued + in flight.
    LinkSummary {
        link: String, "", "name of the link";
        offered_packets: u64, "packets", "packets that arrived at the link";
        delivered_packets: u64, "packets", "packets that left it";
        delivered_bytes: u64, "bytes", "their size as IP packets";
        dropped_packets: u64, "packets", "packets that its queue dropped";
        marked_packets: u64, "packets", "packets that its queue marked (RFC 3168)";
        lost_packets: u64, "packets", "packets lost at random or in an outage";
        queued_packets: u64, "packets", "packets in the queue at the end";
        in_flight_packets: u64, "packets", "packets in propagation at the end";
    }
}

table! {
    /// One row per running flow and interval; a row closes its interval.
    FlowSeries {
        time_s: Vec<f64>, "s", "end of the interval, from the start of the run";
        flow: Vec<u32>, "", "index of the flow";
        goodput_mbps: Vec<f64>, "Mbit/s", "goodput in the interval";
        send_mbps: Vec<f64>, "Mbit/s", "rate of IP packets sent";
        rtt_ms: Vec<f64>, "ms", "mean of the RTT samples; NaN without a sample";
        base_rtt_ms: Vec<f64>, "ms", "propagation both ways at the end of the interval";
        cwnd_packets: Vec<u32>, "packets", "congestion window at the end of the interval";
        in_flight_packets: Vec<u32>, "packets", "packets in flight at the end of the interval";
        pacing_mbps: Vec<f64>, "Mbit/s", "pacing rate at the end of the interval; NaN for an unpaced flow";
        lost_packets: Vec<u32>, "packets", "packets deemed lost";
        retransmitted_packets: Vec<u32>, "packets", "packets retransmitted";
    }
}

table! {
    /// One row per link and interval; a row closes its interval.
    LinkSeries {
        time_s: Vec<f64>, "s", "end of the interval, from the start of the run";
        link: Vec<u32>, "", "index of the link";
        capacity_mbps: Vec<f64>, "Mbit/s", "mean capacity in the interval; outages count as zero";
        delay_ms: Vec<f64>, "ms", "one-way propagation at the end of the interval";
        queue_packets: Vec<u32>, "packets", "queue at the end of the interval";
        connected: Vec<bool>, "", "whether no outage touched the interval";
        dropped_packets: Vec<u32>, "packets", "packets that the queue dropped";
        delivered_mbps: Vec<f64>, "Mbit/s", "rate of IP packets that left the link";
    }
}

/// The run log's tables and their columns, by name.
pub const TABLES: [(&str, &[Column]); 4] = [
    ("flows", FlowSummary::COLUMNS),
    ("links", LinkSummary::COLUMNS),
    ("flow_series", FlowSeries::COLUMNS),
    ("link_series", LinkSeries::COLUMNS),
];
