//! The path trace: delay, capacity, loss and outages of a path over time, with a strict CSV parser.
//!
//! First come lines that start with `#`; the very first is `# ` and a JSON object with at least
//! `"format": "leogym-path-trace"` and `"version"`, 1 or 2. Then come the header with the columns of that
//! [`Version`] and the rows. Version 2 has delay, capacity, loss and outages of each direction; version 1 has
//! only the capacity of each. A row holds until the next row's time. The last row only ends the period, and
//! replay wraps. Every line ends with a line break, so a truncated file is detected. A byte-order mark, quoted
//! cells, and semicolons with decimal commas are read as spreadsheets write them.
//!
//! The parser checks the format only. Where traces are built, their physics is checked (no packet overtakes
//! another, no leg is faster than light).

use std::fmt;

pub use event::{Event, Stretch};
pub use parse::{TraceError, Unparsed};

use crate::schedule::Direction;

mod decimal;
mod event;
mod parse;
mod spreadsheet;

/// Value of `format` in the metadata.
pub const FORMAT: &str = "leogym-path-trace";

const NS_PER_S: u64 = 1_000_000_000;
const NS_PER_MS: u64 = 1_000_000;
const US_PER_MS: u64 = 1_000;
const BPS_PER_MBPS: u64 = 1_000_000;

/// Delays must be below this, in ns; no path between two points on Earth comes near it.
const DELAY_LIMIT_NS: u64 = 10 * NS_PER_S;

/// A version of the format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Version {
    /// Both directions have the same delay, loss and outages.
    One,
    /// Each direction has its own.
    #[default]
    Two,
}

impl Version {
    /// Value of `version` in the metadata.
    pub const fn number(self) -> u64 {
        match self {
            Self::One => 1,
            Self::Two => 2,
        }
    }

    /// The columns, in order.
    pub const fn columns(self) -> &'static [&'static str] {
        match self {
            Self::One => &[
                "time_s",
                "delay_ms",
                "uplink_mbps",
                "downlink_mbps",
                "loss",
                "connected",
                "path_id",
                "event",
            ],
            Self::Two => &[
                "time_s",
                "up_delay_ms",
                "down_delay_ms",
                "uplink_mbps",
                "downlink_mbps",
                "up_loss",
                "down_loss",
                "up_connected",
                "down_connected",
                "path_id",
                "event",
            ],
        }
    }
}

/// One direction of a path while a row holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OneWay {
    /// Propagation, in ns; also set while disconnected.
    pub delay_ns: u64,
    /// Capacity, in bit/s of whole IP packets.
    pub rate_bps: u64,
    /// Probability that a packet is lost.
    pub loss: f64,
    /// Whether packets get through.
    pub connected: bool,
}

/// The state of the path from `time_ns` until the next row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// Start, in ns since the start of the period.
    pub time_ns: u64,
    /// From the path's first site to its second: from the user.
    pub up: OneWay,
    /// From the second to the first: to the user.
    pub down: OneWay,
    /// Identifies the path's chain of nodes.
    pub path_id: u32,
    /// The event that this row starts.
    pub event: Event,
}

impl Row {
    /// Return a row with the same values in both directions, without an event.
    pub const fn alike(time_ns: u64, way: OneWay) -> Self {
        Self { time_ns, up: way, down: way, path_id: 0, event: Event::None }
    }

    /// Return the values of a direction.
    pub const fn way(&self, direction: Direction) -> &OneWay {
        match direction {
            Direction::Uplink => &self.up,
            Direction::Downlink => &self.down,
        }
    }
}

/// A path over one period; replay wraps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PathTrace {
    /// The metadata: a JSON object, as written in the file.
    pub metadata: String,
    /// The file's version, as in the metadata. With [`Version::One`], both directions of every row have the
    /// same delay, loss and connection.
    pub version: Version,
    /// At least one row; the first starts at 0. The file's last row, which only ends the period, is excluded.
    pub rows: Vec<Row>,
    /// Length of the period, in ns; after every row's start.
    pub period_ns: u64,
}

impl fmt::Display for PathTrace {
    /// Write the text of a file; [`PathTrace::parse`] reads the same trace from it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "# {}\n{}", self.metadata, self.version.columns().join(","))?;
        let last = self.rows.last().map(|row| Row { time_ns: self.period_ns, event: Event::None, ..*row });
        for Row { time_ns, up, down, path_id, event } in self.rows.iter().chain(&last) {
            write_scaled(f, *time_ns, NS_PER_S)?;
            write_scaled(f, up.delay_ns, NS_PER_MS)?;
            if self.version == Version::Two {
                write_scaled(f, down.delay_ns, NS_PER_MS)?;
            }
            write_scaled(f, up.rate_bps, BPS_PER_MBPS)?;
            write_scaled(f, down.rate_bps, BPS_PER_MBPS)?;
            let connected = [up.connected, down.connected].map(u8::from);
            match self.version {
                Version::One => write!(f, "{},{}", up.loss, connected[0])?,
                Version::Two => write!(f, "{},{},{},{}", up.loss, down.loss, connected[0], connected[1])?,
            }
            writeln!(f, ",{path_id},{event}")?;
        }
        Ok(())
    }
}

/// Write an integer as a decimal in units of `scale`, and a comma.
fn write_scaled(f: &mut fmt::Formatter<'_>, value: u64, scale: u64) -> fmt::Result {
    let digits = scale.ilog10() as usize;
    write!(f, "{}.{:0digits$},", value / scale, value % scale)
}

#[cfg(test)]
mod tests;
