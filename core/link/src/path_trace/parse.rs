//! The strict parser.

use super::decimal::{parse_probability, parse_scaled};
use crate::interrupt::{Interrupted, RUN_ON, Stop, Watch};

use super::{
    BPS_PER_MBPS, DELAY_LIMIT_NS, Event, FORMAT, NS_PER_MS, NS_PER_S, OneWay, PathTrace, Row, Version,
    spreadsheet,
};

/// A parse error of a path trace, displayed as one line: `source:line: field: rule`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{source_name}:{line}: {field}: {rule}")]
pub struct TraceError {
    /// The file or other origin of the text.
    pub source_name: String,
    /// The line, from 1.
    pub line: usize,
    /// The column or part of the file.
    pub field: &'static str,
    /// The broken rule.
    pub rule: String,
}

/// Why a path trace was not parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unparsed {
    /// It breaks a rule of the format.
    Broken(TraceError),
    /// The caller stopped the parser.
    Interrupted,
}

/// A broken rule whose source and line the caller knows.
struct Broken {
    field: &'static str,
    rule: String,
}

/// Why [`PathTrace::parse_lines`] stops early.
enum Failure {
    Rule(Broken),
    Interrupted,
}

impl From<Broken> for Failure {
    fn from(broken: Broken) -> Self {
        Self::Rule(broken)
    }
}

impl From<Interrupted> for Failure {
    fn from(_: Interrupted) -> Self {
        Self::Interrupted
    }
}

fn broken<T, E: From<Broken>>(field: &'static str, rule: impl Into<String>) -> Result<T, E> {
    Err(Broken { field, rule: rule.into() }.into())
}

impl PathTrace {
    /// Parse the CSV `text`. `source` names it in errors.
    ///
    /// Decimals become integers without floating point: ns and bit/s are exact, further digits round.
    ///
    /// # Errors
    /// Returns the first rule of the format that the text breaks.
    pub fn parse(text: &str, source: &str) -> Result<Self, TraceError> {
        Self::parse_unless(RUN_ON, text, source).map_err(|error| match error {
            Unparsed::Broken(broken) => broken,
            Unparsed::Interrupted => unreachable!("nothing stops this parser"),
        })
    }

    /// [`Self::parse`] unless `stop` returns true meanwhile.
    ///
    /// # Errors
    /// Returns the first rule of the format that the text breaks, or that the caller stopped the parser.
    pub fn parse_unless(stop: Stop<'_>, text: &str, source: &str) -> Result<Self, Unparsed> {
        let mut line = 1;
        let text = spreadsheet::plain(stop, text).map_err(|Interrupted| Unparsed::Interrupted)?;
        Self::parse_lines(stop, &text, &mut line).map_err(|error| match error {
            Failure::Rule(Broken { field, rule }) => {
                Unparsed::Broken(TraceError { source_name: source.to_owned(), line, field, rule })
            }
            Failure::Interrupted => Unparsed::Interrupted,
        })
    }

    /// Parse, keeping `line` at the current line.
    fn parse_lines(stop: Stop<'_>, text: &str, line: &mut usize) -> Result<Self, Failure> {
        let mut watch = Watch::new(stop);
        let Some(complete) = text.strip_suffix('\n') else {
            *line = text.split('\n').count();
            return broken("file", "truncated: the last line has no line break");
        };
        let mut lines = complete.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line));
        let (metadata, version) = parse_metadata(lines.next().unwrap_or_default())?;
        let header = loop {
            let Some(next) = lines.next() else { return broken("file", "truncated: there is no header") };
            *line += 1;
            if !next.starts_with('#') {
                break next;
            }
        };
        check_header(header, version)?;
        let mut rows: Vec<Row> = Vec::new();
        for text in lines {
            *line += 1;
            watch.unit()?;
            let row = parse_row(text, version)?;
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
            Some(end) if !rows.is_empty() => Ok(Self { metadata, version, rows, period_ns: end.time_ns }),
            _ => broken("file", "truncated: at least two rows are needed, the last one ends the period"),
        }
    }
}

/// Check the first line and return its JSON and the version in it.
fn parse_metadata(line: &str) -> Result<(String, Version), Broken> {
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
    match [Version::One, Version::Two].into_iter().find(|version| value["version"] == version.number()) {
        Some(version) => Ok((json.to_owned(), version)),
        None => broken("version", format!("must be 1 or 2, not {}", value["version"])),
    }
}

fn check_header(line: &str, version: Version) -> Result<(), Broken> {
    let expected = version.columns();
    let columns: Vec<&str> = line.split(',').collect();
    if columns == expected {
        return Ok(());
    }
    if let Some(missing) = expected.iter().find(|name| !columns.contains(name)) {
        return broken("header", format!("column {missing} is missing"));
    }
    if let Some(unknown) = columns.iter().find(|name| !expected.contains(name)) {
        return broken("header", format!("unknown column {unknown:?}"));
    }
    broken("header", format!("must be {}", expected.join(",")))
}

/// The most columns of a version.
const MOST: usize = Version::Two.columns().len();

/// The cells of a row, by the place of their column.
struct Cells<'a> {
    columns: &'static [&'static str],
    values: [&'a str; MOST],
}

impl<'a> Cells<'a> {
    fn of(line: &'a str, version: Version) -> Result<Self, Broken> {
        let columns = version.columns();
        let mut cells = line.split(',');
        let mut values = [""; MOST];
        for (value, column) in values.iter_mut().zip(columns) {
            let Some(cell) = cells.next() else {
                return broken(column, "truncated row: the column is missing");
            };
            *value = cell;
        }
        if cells.next().is_some() {
            return broken("row", format!("must have {} columns", columns.len()));
        }
        Ok(Self { columns, values })
    }

    fn scaled(&self, column: usize, scale: u64) -> Result<u64, Broken> {
        parse_scaled(self.values[column], scale).or_else(|rule| broken(self.columns[column], rule))
    }

    fn delay_ns(&self, column: usize) -> Result<u64, Broken> {
        let delay_ns = self.scaled(column, NS_PER_MS)?;
        if (1..DELAY_LIMIT_NS).contains(&delay_ns) {
            return Ok(delay_ns);
        }
        let rule = format!("must be above 0 and below 10000, not {}", self.values[column]);
        broken(self.columns[column], rule)
    }

    fn loss(&self, column: usize) -> Result<f64, Broken> {
        parse_probability(self.values[column]).or_else(|rule| broken(self.columns[column], rule))
    }

    fn connected(&self, column: usize) -> Result<bool, Broken> {
        match self.values[column] {
            "1" => Ok(true),
            "0" => Ok(false),
            other => broken(self.columns[column], format!("must be 0 or 1, not {other:?}")),
        }
    }

    fn way(&self, [delay, rate, loss, connected]: [usize; 4]) -> Result<OneWay, Broken> {
        Ok(OneWay {
            delay_ns: self.delay_ns(delay)?,
            rate_bps: self.scaled(rate, BPS_PER_MBPS)?,
            loss: self.loss(loss)?,
            connected: self.connected(connected)?,
        })
    }
}

fn parse_row(line: &str, version: Version) -> Result<Row, Broken> {
    let cells = Cells::of(line, version)?;
    let time_ns = cells.scaled(0, NS_PER_S)?;
    // The columns of delay, capacity, loss and connection.
    let (up, down) = match version {
        Version::One => {
            let up = cells.way([1, 2, 4, 5])?;
            (up, OneWay { rate_bps: cells.scaled(3, BPS_PER_MBPS)?, ..up })
        }
        Version::Two => (cells.way([1, 3, 5, 7])?, cells.way([2, 4, 6, 8])?),
    };
    let last = cells.columns.len() - 1;
    let (path_id, event) = (cells.values[last - 1], cells.values[last]);
    let Ok(path_id) = path_id.parse() else {
        return broken("path_id", format!("must be a non-negative integer, not {path_id:?}"));
    };
    let Some(event) = Event::parse(event) else {
        let events = "hard_handover, soft_handover, soft_handover(FROM_MS..TO_MS), unreachable";
        return broken("event", format!("must be empty or one of {events}, not {event:?}"));
    };
    Ok(Row { time_ns, up, down, path_id, event })
}
