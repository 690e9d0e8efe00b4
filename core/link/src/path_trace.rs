//! The path trace: delay, capacity, loss and outages of a path over time, with a strict CSV parser.
//!
//! Format version 1. First come lines that start with `#`; the very first is `# ` and a JSON object with at
//! least `"format": "leogym-path-trace"` and `"version": 1`. Then come the header with the eight columns of
//! [`COLUMNS`] and the rows. A row holds until the next row's time. The last row only ends the period, and
//! replay wraps. Every line ends with a line break, so a truncated file is detected.
//!
//! The parser checks the format only. Where traces are built, their physics is checked (no packet overtakes
//! another, no leg is faster than light).

use std::fmt;

use decimal::{parse_probability, parse_scaled};

mod decimal;

/// The columns, in order.
pub const COLUMNS: [&str; 8] =
    ["time_s", "delay_ms", "uplink_mbps", "downlink_mbps", "loss", "connected", "path_id", "event"];

/// Value of `format` in the metadata.
pub const FORMAT: &str = "leogym-path-trace";

/// Value of `version` in the metadata.
pub const VERSION: u64 = 1;

const HEADER: &str = "time_s,delay_ms,uplink_mbps,downlink_mbps,loss,connected,path_id,event";
const NS_PER_S: u64 = 1_000_000_000;
const NS_PER_MS: u64 = 1_000_000;
const US_PER_MS: u64 = 1_000;
const BPS_PER_MBPS: u64 = 1_000_000;

/// Delays must be below this, in ns; no path between two points on Earth comes near it.
const DELAY_LIMIT_NS: u64 = 10 * NS_PER_S;

/// The event that a row starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Event {
    /// No event, only new values.
    #[default]
    None,
    /// The first row of an outage caused by a change of satellite.
    HardHandover,
    /// A change of route without an outage.
    SoftHandover(Stretch),
    /// The first row of a span without any path.
    Unreachable,
}

/// The part of the old path that a soft handover dismantles, in µs of propagation from the path's first site.
///
/// Packets in flight on it are lost. It is empty when the handover dismantles nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stretch {
    /// Start of the stretch.
    pub from_us: u32,
    /// End of the stretch.
    pub to_us: u32,
}

impl Event {
    /// Parse the event column, which is empty for no event.
    ///
    /// A soft handover may name the dismantled stretch in ms, as in `soft_handover(1.25..4.5)`.
    fn parse(text: &str) -> Option<Self> {
        match text {
            "" => Some(Self::None),
            "hard_handover" => Some(Self::HardHandover),
            "soft_handover" => Some(Self::SoftHandover(Stretch::default())),
            "unreachable" => Some(Self::Unreachable),
            _ => {
                let (from, to) = text.strip_prefix("soft_handover(")?.strip_suffix(')')?.split_once("..")?;
                let us = |text| parse_scaled(text, US_PER_MS).ok().and_then(|us| u32::try_from(us).ok());
                let stretch = Stretch { from_us: us(from)?, to_us: us(to)? };
                (stretch.from_us < stretch.to_us).then_some(Self::SoftHandover(stretch))
            }
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => Ok(()),
            Self::HardHandover => f.write_str("hard_handover"),
            Self::SoftHandover(Stretch { from_us, to_us }) if from_us == to_us => {
                f.write_str("soft_handover")
            }
            Self::SoftHandover(Stretch { from_us, to_us }) => {
                let ms = |us: &u32| f64::from(*us) / US_PER_MS as f64;
                write!(f, "soft_handover({}..{})", ms(from_us), ms(to_us))
            }
            Self::Unreachable => f.write_str("unreachable"),
        }
    }
}

/// The state of the path from `time_ns` until the next row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// Start, in ns since the start of the period.
    pub time_ns: u64,
    /// One-way propagation, in ns; also set while disconnected.
    pub delay_ns: u64,
    /// Capacity from the user, in bit/s of whole IP packets.
    pub uplink_bps: u64,
    /// Capacity to the user, in bit/s of whole IP packets.
    pub downlink_bps: u64,
    /// Probability that a packet is lost.
    pub loss: f64,
    /// Identifies the path's chain of nodes.
    pub path_id: u32,
    /// Whether packets get through.
    pub connected: bool,
    /// The event that this row starts.
    pub event: Event,
}

/// A path over one period; replay wraps.
#[derive(Clone, Debug, PartialEq)]
pub struct PathTrace {
    /// The metadata: a JSON object, as written in the file.
    pub metadata: String,
    /// At least one row; the first starts at 0. The file's last row, which only ends the period, is excluded.
    pub rows: Vec<Row>,
    /// Length of the period, in ns; after every row's start.
    pub period_ns: u64,
}

impl fmt::Display for PathTrace {
    /// Write the text of a file; [`PathTrace::parse`] reads the same trace from it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "# {}\n{HEADER}", self.metadata)?;
        let last = self.rows.last().map(|row| Row { time_ns: self.period_ns, event: Event::None, ..*row });
        for row in self.rows.iter().chain(&last) {
            let Row { time_ns, delay_ns, uplink_bps, downlink_bps, loss, path_id, connected, event } = row;
            let scaled = [
                (time_ns, NS_PER_S),
                (delay_ns, NS_PER_MS),
                (uplink_bps, BPS_PER_MBPS),
                (downlink_bps, BPS_PER_MBPS),
            ];
            for (value, scale) in scaled {
                let digits = scale.ilog10() as usize;
                write!(f, "{}.{:0digits$},", value / scale, value % scale)?;
            }
            writeln!(f, "{loss},{},{path_id},{event}", u8::from(*connected))?;
        }
        Ok(())
    }
}

/// A parse error of a path trace, displayed as one line: `source:line: field: rule`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceError {
    /// The file or other origin of the text.
    pub source: String,
    /// The line, from 1.
    pub line: usize,
    /// The column or part of the file.
    pub field: &'static str,
    /// The broken rule.
    pub rule: String,
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}: {}", self.source, self.line, self.field, self.rule)
    }
}

impl std::error::Error for TraceError {}

/// A broken rule whose source and line the caller knows.
struct Broken {
    field: &'static str,
    rule: String,
}

fn broken<T>(field: &'static str, rule: impl Into<String>) -> Result<T, Broken> {
    Err(Broken { field, rule: rule.into() })
}

impl PathTrace {
    /// Parse the CSV `text`. `source` names it in errors.
    ///
    /// Decimals become integers without floating point: ns and bit/s are exact, further digits round.
    ///
    /// # Errors
    /// Returns the first rule of the format that the text breaks.
    pub fn parse(text: &str, source: &str) -> Result<Self, TraceError> {
        let mut line = 1;
        Self::parse_lines(text, &mut line).map_err(|Broken { field, rule }| TraceError {
            source: source.to_owned(),
            line,
            field,
            rule,
        })
    }

    /// Parse, keeping `line` at the current line.
    fn parse_lines(text: &str, line: &mut usize) -> Result<Self, Broken> {
        let Some(complete) = text.strip_suffix('\n') else {
            *line = text.split('\n').count();
            return broken("file", "truncated: the last line has no line break");
        };
        let mut lines = complete.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line));
        let metadata = parse_metadata(lines.next().unwrap_or_default())?;
        let header = loop {
            let Some(next) = lines.next() else { return broken("file", "truncated: there is no header") };
            *line += 1;
            if !next.starts_with('#') {
                break next;
            }
        };
        check_header(header)?;
        let mut rows: Vec<Row> = Vec::new();
        for text in lines {
            *line += 1;
            let row = parse_row(text)?;
            match rows.last() {
                None if row.time_ns != 0 => return broken("time_s", "the first row must start at 0"),
                Some(last) if row.time_ns == last.time_ns => {
                    return broken("time_s", "time stands still: must be after the row before");
                }
                Some(last) if row.time_ns < last.time_ns => {
                    return broken("time_s", "time runs backwards: must be after the row before");
                }
                _ => rows.push(row),
            }
        }
        match rows.pop() {
            Some(end) if !rows.is_empty() => Ok(Self { metadata, rows, period_ns: end.time_ns }),
            _ => broken("file", "truncated: at least two rows are needed, the last one ends the period"),
        }
    }

    /// Return the index of the row that covers `time_ns` into the period; the last row for times beyond it.
    pub fn index_at(&self, time_ns: u64) -> usize {
        self.rows.partition_point(|row| row.time_ns <= time_ns).saturating_sub(1)
    }
}

/// Check the first line and return its JSON.
fn parse_metadata(line: &str) -> Result<String, Broken> {
    let Some(json) = line.strip_prefix('#') else {
        return broken("metadata", "the first line must be '# ' and a JSON object");
    };
    let json = json.trim();
    let value: serde_json::Value = match serde_json::from_str(json) {
        Ok(value) => value,
        Err(error) => return broken("metadata", format!("not JSON: {error}")),
    };
    if !value.is_object() {
        return broken("metadata", "must be a JSON object");
    }
    if value["format"] != FORMAT {
        return broken("format", format!("must be \"{FORMAT}\", not {}", value["format"]));
    }
    if value["version"] != VERSION {
        return broken("version", format!("must be {VERSION}, not {}", value["version"]));
    }
    Ok(json.to_owned())
}

fn check_header(line: &str) -> Result<(), Broken> {
    if line == HEADER {
        return Ok(());
    }
    let columns: Vec<&str> = line.split(',').collect();
    if let Some(missing) = COLUMNS.iter().find(|name| !columns.contains(name)) {
        return broken("header", format!("column {missing} is missing"));
    }
    if let Some(unknown) = columns.iter().find(|name| !COLUMNS.contains(name)) {
        return broken("header", format!("unknown column {unknown:?}"));
    }
    broken("header", format!("must be {HEADER}"))
}

fn parse_row(line: &str) -> Result<Row, Broken> {
    let mut cells = line.split(',');
    let mut values = [""; COLUMNS.len()];
    for (value, column) in values.iter_mut().zip(COLUMNS) {
        let Some(cell) = cells.next() else { return broken(column, "truncated row: the column is missing") };
        *value = cell;
    }
    if cells.next().is_some() {
        return broken("row", format!("must have {} columns", COLUMNS.len()));
    }
    let scaled = |column: usize, scale| {
        parse_scaled(values[column], scale).or_else(|rule| broken(COLUMNS[column], rule))
    };
    let delay_ns = scaled(1, NS_PER_MS)?;
    if !(1..DELAY_LIMIT_NS).contains(&delay_ns) {
        return broken("delay_ms", format!("must be above 0 and below 10000, not {}", values[1]));
    }
    let Ok(path_id) = values[6].parse() else {
        return broken("path_id", format!("must be a non-negative integer, not {:?}", values[6]));
    };
    let Some(event) = Event::parse(values[7]) else {
        let known = "hard_handover, soft_handover, soft_handover(FROM_MS..TO_MS), unreachable";
        return broken("event", format!("must be empty or one of {known}, not {:?}", values[7]));
    };
    Ok(Row {
        time_ns: scaled(0, NS_PER_S)?,
        delay_ns,
        uplink_bps: scaled(2, BPS_PER_MBPS)?,
        downlink_bps: scaled(3, BPS_PER_MBPS)?,
        loss: parse_probability(values[4]).or_else(|rule| broken("loss", rule))?,
        path_id,
        connected: match values[5] {
            "1" => true,
            "0" => false,
            other => return broken("connected", format!("must be 0 or 1, not {other:?}")),
        },
        event,
    })
}

#[cfg(test)]
mod tests;
