//! Python's signals and its caller's own checks during long computations.

use std::sync::Mutex;
use std::time::Duration;
#[expect(clippy::disallowed_types, reason = "paces the look at signals, which no result depends on")]
use std::time::Instant;

use leo_sim::{Interrupted, ScenarioError, Stop, Unbuilt};
use pyo3::prelude::*;

use crate::input_error;

/// A look takes the GIL, for which it may wait 5 ms while another thread runs Python.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// Why a computation gave no result.
pub enum Failure {
    /// One line for an `InputError`.
    Input(String),
    /// A signal's handler or the caller's check raised.
    Interrupted,
}

impl From<Interrupted> for Failure {
    fn from(_: Interrupted) -> Self {
        Self::Interrupted
    }
}

impl From<ScenarioError> for Failure {
    fn from(error: ScenarioError) -> Self {
        Self::Input(error.to_string())
    }
}

impl From<Unbuilt> for Failure {
    fn from(error: Unbuilt) -> Self {
        match error {
            Unbuilt::Scenario(error) => error.into(),
            Unbuilt::Interrupted(interrupted) => interrupted.into(),
        }
    }
}

/// Looks at signals, and calls the caller's check, while a computation runs.
struct Looks {
    check: Option<Py<PyAny>>,
    /// The exception that a handler or the check has raised.
    raised: Mutex<Option<PyErr>>,
    #[expect(clippy::disallowed_types, reason = "see above")]
    next_look: Mutex<Instant>,
}

#[expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "see above")]
impl Looks {
    fn new(check: Option<Py<PyAny>>) -> Self {
        Self { check, raised: Mutex::new(None), next_look: Mutex::new(Instant::now() + BETWEEN_LOOKS) }
    }

    /// Run the handlers of signals that have arrived and the check, and return whether one has raised.
    fn look(&self) -> bool {
        let mut raised = self.raised.lock().expect("no look panics");
        if raised.is_some() {
            return true;
        }
        let mut next = self.next_look.lock().expect("no look panics");
        if Instant::now() >= *next {
            *raised = Python::attach(|python| {
                // On threads other than Python's main thread, this does nothing.
                python.check_signals()?;
                self.check.as_ref().map_or(Ok(()), |check| check.call0(python).map(drop))
            })
            .err();
            *next = Instant::now() + BETWEEN_LOOKS;
        }
        raised.is_some()
    }
}

/// Run `work` without the GIL, and look at signals whenever it calls its `Stop`.
///
/// # Errors
/// The exception of a signal's handler, with any result of `work`; else the work's error.
pub fn interruptible<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(Stop<'_>) -> Result<T, Failure> + Send,
) -> PyResult<T> {
    checked(py, None, work)
}

/// [`interruptible`], and call `check` after each look at signals: its exception ends the computation, too.
pub fn checked<T: Send>(
    py: Python<'_>,
    check: Option<Py<PyAny>>,
    work: impl FnOnce(Stop<'_>) -> Result<T, Failure> + Send,
) -> PyResult<T> {
    let looks = Looks::new(check);
    let result = py.detach(|| work(&|| looks.look()));
    if let Some(raised) = looks.raised.into_inner().expect("no look panics") {
        return Err(raised);
    }
    result.map_err(|failure| match failure {
        Failure::Input(line) => input_error(line),
        Failure::Interrupted => unreachable!("only an exception interrupts"),
    })
}
