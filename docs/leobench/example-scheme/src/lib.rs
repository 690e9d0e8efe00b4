//! A scheme for LeoBench: four C functions. The judge loads the library in a confined process of its own.

/// The first fields of an interval's report; docs/tasks/my-scheme.md lists all, in this order.
#[repr(C)]
pub struct Report {
    time_s: f64,
    interval_ms: f64,
    rtt_ms: f64,
    min_rtt_ms: f64,
    smoothed_rtt_ms: f64,
    rtt_deviation_ms: f64,
    rtt_slope: f64,
    rtt_samples: f64,
    delivered_packets: f64,
    sent_packets: f64,
    lost_packets: f64,
}

/// What the flow does from now on; a value that stays NaN is not named.
#[repr(C)]
pub struct Command {
    cwnd_packets: f64,
    pacing_mbps: f64,
}

/// Queueing that the scheme aims at: a smoothed RTT of 1.1 times the minimum.
const TARGET: f64 = 1.1;

/// The scheme's state for one flow.
pub struct Careful {
    starting: bool,
    window: f64,
}

impl Careful {
    /// Return the window after an interval.
    fn act(&mut self, report: &Report) -> f64 {
        let inflation = report.smoothed_rtt_ms / report.min_rtt_ms;
        if self.starting && inflation < 1.25 && report.lost_packets == 0.0 {
            // Twice the window per RTT, as in slow start.
            self.window *= 2.0f64.powf(report.interval_ms / report.min_rtt_ms.max(report.interval_ms));
        } else {
            self.starting = false;
            self.window *= 4.0f64.powf((0.2 * (TARGET - inflation)).clamp(-0.05, 0.02));
        }
        self.window = self.window.max(4.0);
        self.window
    }
}

/// Return the version of this interface.
#[unsafe(no_mangle)]
pub extern "C" fn leo_abi() -> u32 {
    2
}

/// Return the interval between reports.
#[unsafe(no_mangle)]
pub extern "C" fn leo_interval_ms() -> f64 {
    30.0
}

/// Return the state of a new flow. It is never freed: the process ends with the run.
#[unsafe(no_mangle)]
pub extern "C" fn leo_new() -> *mut Careful {
    Box::into_raw(Box::new(Careful { starting: true, window: 10.0 }))
}

/// Answer a report of `fields` numbers with a window, a rate, or both.
///
/// # Safety
/// `flow` is from `leo_new`, `report` points to `fields` numbers, and `command` to two that are NaN.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leo_act(
    flow: *mut Careful,
    report: *const Report,
    _fields: usize,
    command: *mut Command,
) {
    // SAFETY: the caller's promise.
    unsafe { (*command).cwnd_packets = (*flow).act(&*report) }
}
