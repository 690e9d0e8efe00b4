//! A scheme for LeoBench: five C functions. The judge loads the library in a confined process of its own.

use std::ffi::{CStr, c_char};

/// Numbers in an interval's report; an observation is the last five, oldest first.
const FEATURES: usize = 10;
/// Queueing that the scheme aims at: a smoothed RTT of 1.1 times the minimum.
const TARGET: f64 = 1.1;

/// The scheme's state for one flow.
pub struct Careful {
    starting: bool,
}

impl Careful {
    /// Return the action after an interval: the window is multiplied by 4 to the power of it.
    fn act(&mut self, observation: &[f32]) -> f64 {
        let latest = &observation[observation.len() - FEATURES..];
        let (inflation, min_rtt_s, loss) =
            (f64::from(latest[2]), 0.5 * f64::from(latest[5]), f64::from(latest[6]));
        if self.starting && inflation < 1.25 && loss == 0.0 {
            // Twice the window per RTT, as in slow start.
            return 0.5 * (INTERVAL_MS / 1e3 / min_rtt_s.max(0.01)).min(1.0);
        }
        self.starting = false;
        (0.2 * (TARGET - inflation)).clamp(-0.05, 0.02)
    }
}

const AGENT: &CStr = c"astraea+cwnd_ratio";
const INTERVAL_MS: f64 = 30.0;

/// Return the version of this interface.
#[unsafe(no_mangle)]
pub extern "C" fn leo_abi() -> u32 {
    1
}

/// Return which observation and action the scheme wants: one of `leosim.Batch.agents()`.
#[unsafe(no_mangle)]
pub extern "C" fn leo_agent() -> *const c_char {
    AGENT.as_ptr()
}

/// Return the interval between actions.
#[unsafe(no_mangle)]
pub extern "C" fn leo_interval_ms() -> f64 {
    INTERVAL_MS
}

/// Return the state of a new flow. It is never freed: the process ends with the run.
#[unsafe(no_mangle)]
pub extern "C" fn leo_new() -> *mut Careful {
    Box::into_raw(Box::new(Careful { starting: true }))
}

/// Return the action, within [-1, 1], for an observation of `length` numbers.
///
/// # Safety
/// `flow` is from `leo_new`, and `observation` points to `length` numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leo_act(flow: *mut Careful, observation: *const f32, length: usize) -> f64 {
    // SAFETY: the caller's promise.
    unsafe { (*flow).act(std::slice::from_raw_parts(observation, length)) }
}
