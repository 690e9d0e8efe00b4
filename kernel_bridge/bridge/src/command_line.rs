//! Parse the command line `leo-bridge run|status|check|load|clean`.

use std::path::PathBuf;

use leo_control::AgentSpec;

use crate::ack_driven;

/// Longest name of a congestion control: the kernel has 16 bytes, the last one 0.
pub const MAX_NAME: usize = 15;

/// The default socket: an abstract name, which leaves no file behind.
pub const SOCKET: &str = "@leo-bridge";

/// The usage.
pub const USAGE: &str = include_str!("usage.txt").trim_ascii_end();

/// A parsed command line.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Serve flows.
    Run(Run),
    /// Print the state of a running bridge.
    Status {
        /// Its socket.
        socket: String,
    },
    /// Report the machine's missing requirements.
    Check,
    /// Load a BPF object, print its scheme's name, and remove it.
    Load(PathBuf),
    /// Remove what killed bridges left.
    Clean,
    /// Print the usage.
    Help,
}

/// Options of `run`.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Congestion controls by name.
    pub schemes: Vec<(String, Decider)>,
    /// BPF objects of the user with a congestion control, by its name.
    pub objects: Vec<(String, PathBuf)>,
    /// Monitor interval of flows without a policy, in µs.
    pub interval_us: u64,
    /// Seed of the schemes' random decisions.
    pub seed: u64,
    /// Socket to listen on.
    pub socket: String,
    /// User to become after loading.
    pub user: Option<String>,
    /// Whether to end with the parent process.
    pub with_parent: bool,
    /// Whether to ignore that the kernel has links.
    pub no_link: bool,
}

/// The decider for the flows of a scheme.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decider {
    /// The policy in that folder.
    Policy(PathBuf),
    /// A scheme of `core/cc`, one of [`ack_driven::NAMES`].
    Scheme(String),
    /// A client of the socket.
    Offered,
    /// A client of the socket, an agent with that specification.
    OfferedTo(AgentSpec),
    /// A client of the socket, with Cubic between its commands.
    OfferedOverCubic,
    /// The eBPF program itself; clients warn it of handovers.
    SaTcp,
}

/// Parse the arguments after the program's name. An error names the argument and the rule that it breaks.
pub fn parse(arguments: &[String]) -> Result<Command, String> {
    let mut arguments = arguments.iter().map(String::as_str);
    match arguments.next() {
        Some("run") => run(arguments),
        Some("status") => {
            let mut socket = SOCKET.to_owned();
            while let Some(flag) = arguments.next() {
                match flag {
                    "--socket" => socket = value(flag, arguments.next())?.to_owned(),
                    _ => return Err(format!("status: {flag}: unknown argument")),
                }
            }
            Ok(Command::Status { socket })
        }
        Some("check") => alone("check", arguments.next(), Command::Check),
        Some("load") => {
            let file = value("load", arguments.next())?;
            alone("load", arguments.next(), Command::Load(file.into()))
        }
        Some("clean") => alone("clean", arguments.next(), Command::Clean),
        Some("-h" | "--help" | "help") => Ok(Command::Help),
        Some(other) => Err(format!("{other}: must be run, status, check, load or clean")),
        None => Err("no command: must be run, status, check, load or clean".to_owned()),
    }
}

fn alone(name: &str, more: Option<&str>, command: Command) -> Result<Command, String> {
    more.map_or(Ok(command), |other| Err(format!("{name}: {other}: unknown argument")))
}

fn run<'a>(mut arguments: impl Iterator<Item = &'a str>) -> Result<Command, String> {
    let mut run = Run {
        schemes: Vec::new(),
        objects: Vec::new(),
        interval_us: 30_000,
        seed: 1,
        socket: SOCKET.to_owned(),
        user: None,
        with_parent: false,
        no_link: false,
    };
    while let Some(flag) = arguments.next() {
        match flag {
            "--policy" => {
                let text = value(flag, arguments.next())?;
                let (name, folder) =
                    text.split_once('=').ok_or_else(|| format!("--policy {text}: must be NAME=FOLDER"))?;
                run.schemes.push((name.to_owned(), Decider::Policy(folder.into())));
            }
            "--scheme" => {
                let text = value(flag, arguments.next())?;
                let (name, scheme) =
                    text.split_once('=').ok_or_else(|| format!("--scheme {text}: must be NAME=SCHEME"))?;
                if !ack_driven::NAMES.contains(&scheme) {
                    return Err(format!("--scheme {text}: must be one of {}", ack_driven::NAMES.join(", ")));
                }
                run.schemes.push((name.to_owned(), Decider::Scheme(scheme.to_owned())));
            }
            "--object" => {
                let text = value(flag, arguments.next())?;
                let (name, file) =
                    text.split_once('=').ok_or_else(|| format!("--object {text}: must be NAME=FILE"))?;
                run.objects.push((name.to_owned(), file.into()));
            }
            "--seed" => {
                let text = value(flag, arguments.next())?;
                run.seed = text.parse().map_err(|_| format!("--seed {text}: must be a whole number"))?;
            }
            "--offer" => {
                let text = value(flag, arguments.next())?;
                let offered = match text.split_once('=') {
                    None => (text.to_owned(), Decider::Offered),
                    Some((name, agent)) => {
                        let spec =
                            AgentSpec::by_name(agent).map_err(|error| format!("--offer {text}: {error}"))?;
                        (name.to_owned(), Decider::OfferedTo(spec))
                    }
                };
                run.schemes.push(offered);
            }
            "--offer-over-cubic" => {
                run.schemes.push((value(flag, arguments.next())?.to_owned(), Decider::OfferedOverCubic));
            }
            "--satcp" => run.schemes.push((value(flag, arguments.next())?.to_owned(), Decider::SaTcp)),
            "--interval-ms" => {
                let text = value(flag, arguments.next())?;
                let ms: f64 = text.parse().map_err(|_| format!("--interval-ms {text}: must be a number"))?;
                if !(1.0..=10_000.0).contains(&ms) {
                    return Err(format!("--interval-ms {text}: must be within 1 and 10000"));
                }
                run.interval_us = (ms * 1_000.0).round() as u64;
            }
            "--socket" => run.socket = value(flag, arguments.next())?.to_owned(),
            "--with-parent" => run.with_parent = true,
            "--no-link" => run.no_link = true,
            "--user" => run.user = Some(value(flag, arguments.next())?.to_owned()),
            _ => return Err(format!("run: {flag}: unknown argument")),
        }
    }
    if run.schemes.is_empty() && run.objects.is_empty() {
        run.schemes.push(("leo_agent".to_owned(), Decider::Offered));
    }
    let names = run.schemes.iter().map(|(name, _)| name).chain(run.objects.iter().map(|(name, _)| name));
    let names: Vec<&String> = names.collect();
    for (index, name) in names.iter().enumerate() {
        if name.is_empty() || name.len() > MAX_NAME || !name.bytes().all(is_allowed) {
            return Err(format!(
                "{name:?}: a congestion control's name has 1 to {MAX_NAME} letters, digits, _ or ."
            ));
        }
        if names[..index].contains(name) {
            return Err(format!("{name}: given twice"));
        }
    }
    Ok(Command::Run(run))
}

/// Return whether the kernel accepts a byte in the name of a congestion control in eBPF (`bpf_obj_name_cpy()`).
const fn is_allowed(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.')
}

fn value<'a>(flag: &str, argument: Option<&'a str>) -> Result<&'a str, String> {
    argument.filter(|value| !value.is_empty()).ok_or_else(|| format!("{flag}: needs a value"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Command, String> {
        parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn without_arguments_one_scheme_is_offered() {
        let Ok(Command::Run(run)) = parsed("run") else { panic!("not a run") };
        assert_eq!(run.schemes, [("leo_agent".to_owned(), Decider::Offered)]);
        assert_eq!((run.interval_us, run.socket.as_str(), run.user), (30_000, "@leo-bridge", None));
        assert!(!run.with_parent && !run.no_link);
    }

    #[test]
    fn schemes_come_in_the_order_given() {
        let line = "run --policy leo_astraea=runs/x/policy --offer mine --offer pair=astraea+aurora --offer-over-cubic orca --satcp satcp --scheme pcc=vivace --seed 7 --interval-ms 12.5 --user me --socket /tmp/s";
        let Ok(Command::Run(run)) = parsed(line) else { panic!("not a run") };
        let policy = ("leo_astraea".to_owned(), Decider::Policy("runs/x/policy".into()));
        assert_eq!(
            run.schemes,
            [
                policy,
                ("mine".to_owned(), Decider::Offered),
                ("pair".to_owned(), Decider::OfferedTo(AgentSpec::by_name("astraea+aurora").unwrap())),
                ("orca".to_owned(), Decider::OfferedOverCubic),
                ("satcp".to_owned(), Decider::SaTcp),
                ("pcc".to_owned(), Decider::Scheme("vivace".to_owned())),
            ]
        );
        assert_eq!(run.seed, 7);
        assert_eq!(
            (run.interval_us, run.socket.as_str(), run.user.as_deref()),
            (12_500, "/tmp/s", Some("me"))
        );
    }

    #[test]
    fn what_is_wrong_is_named_with_its_rule() {
        for (line, rule) in [
            ("", "no command: must be run, status, check, load or clean"),
            ("stop", "stop: must be run, status, check, load or clean"),
            ("load", "load: needs a value"),
            ("load a b", "load: b: unknown argument"),
            ("run --object x.o", "--object x.o: must be NAME=FILE"),
            ("run --offer a --object a=x.o", "a: given twice"),
            ("run --polcy a=b", "run: --polcy: unknown argument"),
            ("run --policy x", "--policy x: must be NAME=FOLDER"),
            ("run --scheme vivace", "--scheme vivace: must be NAME=SCHEME"),
            ("run --scheme x=cubic", "--scheme x=cubic: must be one of copa, vivace, vivace-kernel"),
            ("run --seed -1", "--seed -1: must be a whole number"),
            ("run --offer", "--offer: needs a value"),
            ("run --offer a --offer a", "a: given twice"),
            ("run --offer a=b", "--offer a=b: "),
            ("run --offer sixteen_letters_", "\"sixteen_letters_\": a congestion control's name has 1 to 15"),
            (
                "run --offer vivace-kernel",
                "\"vivace-kernel\": a congestion control's name has 1 to 15 letters",
            ),
            ("run --interval-ms 0", "--interval-ms 0: must be within 1 and 10000"),
            ("run --interval-ms nan", "--interval-ms nan: must be within 1 and 10000"),
            ("check it", "check: it: unknown argument"),
            ("clean up", "clean: up: unknown argument"),
        ] {
            let error = parsed(line).unwrap_err();
            assert!(error.starts_with(rule), "{line}: {error}");
        }
    }
}
