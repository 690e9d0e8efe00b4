//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

use leo_link::{Direction, Nanos, QueueKind, UNLIMITED};
use lexopt::Parser;
use lexopt::prelude::{Long, Short, Value};

const NS_PER_US: f64 = 1e3;
const NS_PER_MS: f64 = 1e6;
const NS_PER_S: f64 = 1e9;
const BPS_PER_MBPS: f64 = 1e6;
/// As in a path trace; no path between two points on Earth comes near it.
const DELAY_LIMIT_MS: f64 = 10_000.0;

/// Default of `--spin-us`.
const SPIN: Nanos = 150_000;

pub const HELP: &str = include_str!("help.txt").trim_ascii_end();

/// The source of delay and connectivity.
#[derive(Debug, PartialEq)]
pub enum Path {
    Traced(PathBuf),
    /// A constant path with this one-way propagation.
    Static(Nanos),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum QueueSize {
    /// One BDP for drop-tail and head drop, else the discipline's default.
    Default,
    Packets(u64),
    Bytes(u64),
    /// In bandwidth-delay products at the start.
    Bdp(f64),
}

/// One value per direction.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Both<T> {
    /// Out of the shell.
    pub uplink: T,
    /// Into the shell.
    pub downlink: T,
}

impl<T: Copy> Both<T> {
    pub const fn of(&self, direction: Direction) -> T {
        match direction {
            Direction::Uplink => self.uplink,
            Direction::Downlink => self.downlink,
        }
    }

    const fn set(&mut self, direction: Direction, value: T) {
        match direction {
            Direction::Uplink => self.uplink = value,
            Direction::Downlink => self.downlink = value,
        }
    }

    const fn set_both(&mut self, value: T) {
        self.uplink = value;
        self.downlink = value;
    }
}

/// The parsed command line; [`HELP`] describes the options.
#[derive(Debug, PartialEq)]
pub struct Arguments {
    pub path: Path,
    pub rate_bps: Both<Option<u64>>,
    pub start: Nanos,
    pub queue: QueueKind,
    pub queue_size: QueueSize,
    pub loss: Both<f64>,
    pub downlink_jitter: Nanos,
    /// Whether outages discard waiting packets.
    pub outages_drop: bool,
    pub seed: u64,
    pub log: Option<PathBuf>,
    pub report: Option<PathBuf>,
    pub max_late: Nanos,
    pub spin: Nanos,
    pub realtime: bool,
    /// If empty, the user's shell.
    pub command: Vec<OsString>,
}

/// A parsed command line.
#[derive(Debug, PartialEq)]
pub enum Request {
    Help,
    Run(Box<Arguments>),
}

/// Parse the command line without the program's own name; an error is one line with the option and the rule.
pub fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Request, String> {
    parse_words(Parser::from_args(words)).map_err(|error| error.to_string())
}

fn parse_words(mut parser: Parser) -> Result<Request, lexopt::Error> {
    let mut trace = None;
    let mut delay = None;
    let mut arguments = Arguments {
        path: Path::Static(0),
        rate_bps: Both::default(),
        start: 0,
        queue: QueueKind::Droptail,
        queue_size: QueueSize::Default,
        loss: Both::default(),
        downlink_jitter: 0,
        outages_drop: false,
        seed: 1,
        log: None,
        report: None,
        max_late: NS_PER_MS as Nanos,
        spin: SPIN,
        realtime: true,
        command: Vec::new(),
    };
    loop {
        // All words after `--` belong to the command, even those that look like options.
        if let Some(words) = parser.try_raw_args() {
            if words.peek().is_some_and(|word| word == "--") {
                arguments.command = words.skip(1).collect();
                break;
            }
        }
        let Some(argument) = parser.next()? else { break };
        let name = match argument {
            Short('h') => return Ok(Request::Help),
            Short(letter) => return Err(format!("-{letter}: unknown option (--help lists them)").into()),
            Value(word) if trace.is_none() && delay.is_none() => {
                trace = Some(PathBuf::from(word));
                continue;
            }
            // As with mahimahi's shells, the command may follow without `--`.
            Value(word) => {
                arguments.command = std::iter::once(word).chain(parser.raw_args()?).collect();
                break;
            }
            Long(name) => name.to_owned(),
        };
        match name.as_str() {
            "help" => return Ok(Request::Help),
            "rate-mbps" => arguments.rate_bps.set_both(Some(rate(&mut parser, &name)?)),
            "uplink-mbps" => arguments.rate_bps.set(Direction::Uplink, Some(rate(&mut parser, &name)?)),
            "downlink-mbps" => arguments.rate_bps.set(Direction::Downlink, Some(rate(&mut parser, &name)?)),
            "delay-ms" => {
                let rule = "must be at least 0 and below 10000";
                let ms = number(&mut parser, &name, |ms| (0.0..DELAY_LIMIT_MS).contains(&ms), rule)?;
                delay = Some((ms * NS_PER_MS).round() as Nanos);
            }
            "start-s" => arguments.start = time(&mut parser, &name, NS_PER_S)?,
            "queue" => arguments.queue = queue_kind(&mut parser)?,
            "queue-packets" => arguments.queue_size = QueueSize::Packets(whole(&mut parser, &name, 1)?),
            "queue-bytes" => arguments.queue_size = QueueSize::Bytes(whole(&mut parser, &name, 1)?),
            "queue-bdp" => {
                let bdp = number(&mut parser, &name, |bdp| bdp > 0.0, "must be above 0")?;
                arguments.queue_size = QueueSize::Bdp(bdp);
            }
            "loss" => arguments.loss.set_both(probability(&mut parser, &name)?),
            "uplink-loss" => arguments.loss.set(Direction::Uplink, probability(&mut parser, &name)?),
            "downlink-loss" => arguments.loss.set(Direction::Downlink, probability(&mut parser, &name)?),
            "outage" => arguments.outages_drop = drops(&parser.value()?)?,
            "downlink-jitter-ms" => arguments.downlink_jitter = time(&mut parser, &name, NS_PER_MS)?,
            "seed" => arguments.seed = whole(&mut parser, &name, 0)?,
            "log" => arguments.log = Some(parser.value()?.into()),
            "report" => arguments.report = Some(parser.value()?.into()),
            "max-late-ms" => arguments.max_late = time(&mut parser, &name, NS_PER_MS)?,
            "spin-us" => {
                let rule = "must lie in [0, 200]: longer spinning starves the flows";
                let us = number(&mut parser, &name, |us| (0.0..=200.0).contains(&us), rule)?;
                arguments.spin = (us * NS_PER_US).round() as Nanos;
            }
            "no-spin" => arguments.spin = 0,
            "no-realtime" => arguments.realtime = false,
            _ => return Err(format!("--{name}: unknown option (--help lists them)").into()),
        }
    }
    arguments.path = match (trace, delay) {
        (Some(trace), None) => Path::Traced(trace),
        (None, Some(delay)) => Path::Static(delay),
        (Some(_), Some(_)) => return Err("--delay-ms: cannot be combined with a path trace".into()),
        (None, None) => return Err("give a path trace, or --rate-mbps and --delay-ms".into()),
    };
    let Both { uplink, downlink } = arguments.rate_bps;
    if matches!(arguments.path, Path::Static(_)) && (uplink.is_none() || downlink.is_none()) {
        return Err("--rate-mbps: required without a path trace".into());
    }
    Ok(Request::Run(Box::new(arguments)))
}

fn text(parser: &mut Parser, name: &str) -> Result<String, lexopt::Error> {
    parser.value()?.into_string().map_err(|value| format!("--{name}: {value:?}: must be a number").into())
}

fn number(
    parser: &mut Parser,
    name: &str,
    holds: impl Fn(f64) -> bool,
    rule: &str,
) -> Result<f64, lexopt::Error> {
    let text = text(parser, name)?;
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && holds(value) => Ok(value),
        Ok(_) => Err(format!("--{name}: {text}: {rule}").into()),
        Err(_) => Err(format!("--{name}: {text:?}: must be a number").into()),
    }
}

fn time(parser: &mut Parser, name: &str, unit: f64) -> Result<Nanos, lexopt::Error> {
    let value = number(parser, name, |value| value >= 0.0, "must not be negative")?;
    Ok((value * unit).round() as Nanos)
}

fn whole(parser: &mut Parser, name: &str, least: u64) -> Result<u64, lexopt::Error> {
    let text = text(parser, name)?;
    match text.parse() {
        Ok(value) if value >= least => Ok(value),
        _ => Err(format!("--{name}: {text:?}: must be a whole number, at least {least}").into()),
    }
}

fn probability(parser: &mut Parser, name: &str) -> Result<f64, lexopt::Error> {
    number(parser, name, |value| (0.0..=1.0).contains(&value), "must lie in [0, 1]")
}

fn rate(parser: &mut Parser, name: &str) -> Result<u64, lexopt::Error> {
    let value = parser.value()?;
    let text = value.to_string_lossy();
    if text == "unlimited" {
        return Ok(UNLIMITED);
    }
    match text.parse::<f64>() {
        // The resolution is 1 bit/s; a petabit per second is beyond any link.
        Ok(mbps) if (1e-6..1e9).contains(&mbps) => Ok((mbps * BPS_PER_MBPS).round() as u64),
        _ => Err(format!("--{name}: {text:?}: must be Mbit/s above 0, or 'unlimited'").into()),
    }
}

fn queue_kind(parser: &mut Parser) -> Result<QueueKind, lexopt::Error> {
    let value = parser.value()?;
    value.to_str().and_then(QueueKind::by_name).ok_or_else(|| {
        let names = QueueKind::ALL.map(|(name, _)| name).join(", ");
        format!("--queue: {value:?}: must be one of {names}").into()
    })
}

fn drops(value: &OsString) -> Result<bool, lexopt::Error> {
    match value.to_str() {
        Some("hold") => Ok(false),
        Some("drop") => Ok(true),
        _ => Err(format!("--outage: {value:?}: must be hold or drop").into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Arguments, String> {
        match parse(line.split_whitespace().map(OsString::from))? {
            Request::Run(arguments) => Ok(*arguments),
            Request::Help => Err("help".to_owned()),
        }
    }

    #[test]
    fn a_command_keeps_its_own_options_with_and_without_the_separator() {
        for line in ["t.csv --queue codel -- ping -c 1", "t.csv --queue codel ping -c 1"] {
            let arguments = parsed(line).unwrap();
            assert_eq!(arguments.path, Path::Traced("t.csv".into()));
            assert_eq!(arguments.queue, QueueKind::Codel);
            assert_eq!(arguments.command, ["ping", "-c", "1"].map(OsString::from), "{line}");
        }
    }

    #[test]
    fn a_link_that_never_changes_needs_no_trace() {
        let arguments = parsed("--rate-mbps 100 --downlink-mbps unlimited --delay-ms 25 -- true").unwrap();
        assert_eq!(arguments.path, Path::Static(25_000_000));
        let rates = Both { uplink: Some(100_000_000), downlink: Some(UNLIMITED) };
        assert_eq!(arguments.rate_bps, rates);
        assert_eq!(arguments.command, [OsString::from("true")]);
    }

    #[test]
    fn an_error_names_the_option_and_the_rule() {
        for (line, error) in [
            ("", "give a path trace, or --rate-mbps and --delay-ms"),
            ("--delay-ms 5", "--rate-mbps: required without a path trace"),
            ("t.csv --delay-ms 5", "--delay-ms: cannot be combined with a path trace"),
            ("t.csv --loss 1.5", "--loss: 1.5: must lie in [0, 1]"),
            ("t.csv --outage lose", "--outage: \"lose\": must be hold or drop"),
            ("t.csv --loss nan", "--loss: nan: must lie in [0, 1]"),
            ("t.csv --rate-mbps 0", "--rate-mbps: \"0\": must be Mbit/s above 0, or 'unlimited'"),
            ("t.csv --queue-packets 0", "--queue-packets: \"0\": must be a whole number, at least 1"),
            (
                "t.csv --spin-us 201",
                "--spin-us: 201: must lie in [0, 200]: longer spinning starves the flows",
            ),
            (
                "t.csv --queue red",
                "--queue: \"red\": must be one of droptail, head_drop, gateway, sfq, codel, fq_codel, pie, fq_pie, cake, dualpi2",
            ),
            ("t.csv --quue red", "--quue: unknown option (--help lists them)"),
        ] {
            assert_eq!(parsed(line), Err(error.to_owned()), "{line}");
        }
    }
}
