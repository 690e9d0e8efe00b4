//! One run: sets everything up, carries packets while the command runs, and reports.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::net::Ipv4Addr;

use leo_link::Direction;
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl::set_timerslack;
use nix::sys::signal::{SigHandler, SigSet, Signal, signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

use crate::addresses::reserve_two;
use crate::alarm::Alarm;
use crate::arguments::{Arguments, Path};
use crate::clock::Clock;
use crate::datagram::Pool;
use crate::ferry::{End, Way, carry};
use crate::impairment::{Source, link};
use crate::interface::{Tun, default_route, turn_on_loopback};
use crate::journal::Journal;
use crate::masquerade::{Masquerade, leads_on};
use crate::overruns::Overruns;
use crate::report::{Report, header};
use crate::session::{Session, Surroundings, User};

/// The outer device's name, without its number.
const OUTER: &str = "leo";
/// The inner device's name, the same as mahimahi's because scripts may rely on it.
const INNER: &str = "ingress";
const FORWARDING: &str = "/proc/sys/net/ipv4/ip_forward";
/// Initial buffers: 30 ms of 1,500-byte packets at 500 Mbit/s.
const PACKETS: usize = 1_250;
/// Above ordinary processes, below the kernel's own threads.
const REALTIME_PRIORITY: i32 = 10;
/// Exit status (sysexits.h's EX_TEMPFAIL) if the command succeeded but the run is not valid.
const NOT_VALID: u8 = 75;

/// Run the command; return its exit status, or [`NOT_VALID`] instead of 0. An error is one line.
pub fn run(arguments: &Arguments, user: User) -> Result<u8, String> {
    // Open files with the user's rights, even if this program is setuid root.
    let (source, log, report) = user.does(|| {
        let create = |path: &Option<_>| path.as_deref().map(create).transpose();
        Ok((Source::read(&arguments.path)?, create(&arguments.log)?, create(&arguments.report)?))
    })?;
    let uplink = link(&source, arguments, Direction::Uplink)?;
    let downlink = link(&source, arguments, Direction::Downlink)?;

    let ends = reserve_two(base()).map_err(|error| format!("addresses: {error}"))?;
    let [outside, inside] = [ends[0].address, ends[1].address];
    let outer = outer_device(outside, inside)?;
    let _masquerade = masquerade(&outer, inside);
    let outer_overruns = Overruns::of(&outer).map_err(|error| format!("/proc/net/dev: {error}"))?;
    let inner = inner_device(inside, outside)?;
    let inner_overruns = Overruns::of(&inner).map_err(|error| format!("/proc/net/dev: {error}"))?;

    let signals = catch_signals().map_err(|error| format!("signals: {error}"))?;
    let command = if arguments.command.is_empty() { vec![users_shell()] } else { arguments.command.clone() };
    let surroundings = Surroundings { base: outside, prompt: prompt(arguments) };
    let mut session = Session::prepare(&command, &surroundings, user)
        .map_err(|error| format!("the command's supervisor: {error}"))?;

    let clock = Clock::start();
    let realtime = arguments.realtime && ask_for_realtime();
    // By default, this thread's timers may end up to 50 µs late.
    let _ = set_timerslack(1);
    let header = header(arguments, [&uplink, &downlink], &clock, realtime).to_string();
    let mut journal = log.map(|file| Journal::begin(file, header));
    user.for_good().map_err(|error| format!("giving up privileges: {error}"))?;

    session.start().map_err(|error| format!("the command's supervisor: {error}"))?;
    let ways = [
        Way::new(Direction::Uplink, uplink, &inner, &outer, Pool::of(PACKETS)),
        Way::new(Direction::Downlink, downlink, &outer, &inner, Pool::of(PACKETS)),
    ];
    let mut status = 0;
    let carried = carry(ways, &clock, Alarm::new(arguments.spin), &mut journal, &signals, || {
        if let Some(signal) = asked_to_end(&signals) {
            status = 128 + signal;
            return End::Now;
        }
        session.ended().map_or(End::NotYet, |ended| {
            status = ended;
            End::WhenEmpty
        })
    })
    .map_err(|error| format!("the TUN devices: {error}"))?;
    session.end();

    let overruns = inner_overruns.count().and_then(|inner| Ok(inner + outer_overruns.count()?));
    let overruns = overruns.map_err(|error| format!("the TUN devices' counters: {error}"))?;
    let verdict = Report::of(carried, arguments.max_late, overruns);
    if let Some(journal) = journal {
        journal.end(&verdict.footer()).map_err(|error| written(arguments.log.as_deref(), &error))?;
    }
    if let Some(mut file) = report {
        writeln!(file, "{}", verdict.json()).map_err(|error| written(arguments.report.as_deref(), &error))?;
    }
    if let Some(fault) = &verdict.fault {
        eprintln!("mm-leo: this run is not valid: {fault}");
        if status == 0 {
            return Ok(NOT_VALID);
        }
    }
    Ok(status)
}

fn create(path: &std::path::Path) -> Result<File, String> {
    File::create(path).map_err(|error| format!("{}: cannot be written: {error}", path.display()))
}

fn written(path: Option<&std::path::Path>, error: &io::Error) -> String {
    format!("{}: not completely written: {error}", path.unwrap_or(std::path::Path::new("")).display())
}

/// Return the outside address of the outermost shell around this one.
fn base() -> Option<Ipv4Addr> {
    std::env::var("MAHIMAHI_BASE").ok()?.parse().ok()
}

/// Return this shell's part of the prompt, in the style of mahimahi's shells.
fn prompt(arguments: &Arguments) -> OsString {
    let path_name = match &arguments.path {
        Path::Traced(file) => file.file_name().unwrap_or_default().to_owned(),
        Path::Static(delay) => format!("{} ms", *delay as f64 / 1e6).into(),
    };
    let mut prompt = OsString::from("[leo ");
    prompt.push(path_name);
    prompt.push("] ");
    prompt
}

fn users_shell() -> OsString {
    std::env::var_os("SHELL").filter(|shell| !shell.is_empty()).unwrap_or_else(|| "/bin/sh".into())
}

/// Create the end in this network namespace.
fn outer_device(local: Ipv4Addr, peer: Ipv4Addr) -> Result<Tun, String> {
    let outer = Tun::create(&format!("{OUTER}%d")).map_err(|error| match error.raw_os_error() {
        Some(libc::EPERM) => "a TUN device needs CAP_NET_ADMIN here: start this as root, \
             or in namespaces of your own: unshare --user --map-root-user --net mm-leo …"
            .to_owned(),
        // The file's mode decides, and root of a user namespace has no capability to override it.
        Some(libc::EACCES) => "/dev/net/tun: this user may not open it: start this as root, \
             or let everyone open it, as most systems do: chmod 0666 /dev/net/tun"
            .to_owned(),
        _ => format!("/dev/net/tun: {error}"),
    })?;
    outer.connect(local, peer).map_err(|error| format!("{}: {error}", outer.name()))?;
    Ok(outer)
}

/// Translate addresses of packets that leave this namespace, if they can. Without nf_tables or forwarding,
/// print a note: the command then reaches this namespace only.
fn masquerade(outer: &Tun, source: Ipv4Addr) -> Option<Masquerade> {
    if !leads_on(OUTER).unwrap_or(false) {
        return None;
    }
    let only = "the command can reach only $MAHIMAHI_BASE";
    if fs::read_to_string(FORWARDING).is_ok_and(|forwarding| forwarding.trim() == "0") {
        eprintln!("mm-leo: net.ipv4.ip_forward is 0: {only}");
        return None;
    }
    Masquerade::install(&format!("mm-leo-{}", outer.name()), source)
        .inspect_err(|error| eprintln!("mm-leo: nf_tables: {error}: {only}"))
        .ok()
}

/// Create the end in a new network namespace, which this process enters.
fn inner_device(local: Ipv4Addr, peer: Ipv4Addr) -> Result<Tun, String> {
    let named = |subject: &'static str| move |error: io::Error| format!("{subject}: {error}");
    unshare(CloneFlags::CLONE_NEWNET).map_err(|error| format!("a network namespace: {error}"))?;
    turn_on_loopback().map_err(named("lo"))?;
    let inner = Tun::create(INNER).map_err(named(INNER))?;
    inner.connect(local, peer).map_err(named(INNER))?;
    default_route(peer).map_err(named("the default route"))?;
    // Nested shells need forwarding here. If /proc/sys is read-only, as in some containers, they say so.
    let _ = fs::write(FORWARDING, "1");
    Ok(inner)
}

/// Ignore the terminal's signals, which the command handles; receive requests to end as messages.
fn catch_signals() -> nix::Result<SignalFd> {
    for kind in [Signal::SIGINT, Signal::SIGQUIT] {
        // SAFETY: ignoring a signal runs no code.
        unsafe { signal(kind, SigHandler::SigIgn) }?;
    }
    let set = SigSet::from_iter([Signal::SIGCHLD, Signal::SIGTERM, Signal::SIGHUP]);
    set.thread_block()?;
    SignalFd::with_flags(&set, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)
}

/// Return the number of the signal that asked this process to end, if any.
fn asked_to_end(signals: &SignalFd) -> Option<u8> {
    let mut asked = None;
    while let Ok(Some(message)) = signals.read_signal() {
        if message.ssi_signo != Signal::SIGCHLD as u32 {
            asked = Some(message.ssi_signo as u8);
        }
    }
    asked
}

/// Ask for priority over ordinary processes. Not every machine grants it to every user.
fn ask_for_realtime() -> bool {
    let wish = libc::sched_param { sched_priority: REALTIME_PRIORITY };
    // SAFETY: reads one sched_param, which lives until the call returns.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &raw const wish) == 0 }
}
