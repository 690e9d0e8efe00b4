//! Collect libbpf's messages for our one-line errors, instead of printing them.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use libbpf_rs::PrintLevel;

static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Gives the messages since it was made.
pub struct Listener;

/// Discard the messages so far and listen.
pub fn listen() -> Listener {
    LINES.lock().unwrap_or_else(PoisonError::into_inner).clear();
    libbpf_rs::set_print(Some((PrintLevel::Warn, |_, text: String| {
        LINES.lock().unwrap_or_else(PoisonError::into_inner).push(text);
    })));
    Listener
}

impl Listener {
    /// Return the first message, in one line.
    pub fn first(&self) -> Option<String> {
        let lines = LINES.lock().unwrap_or_else(PoisonError::into_inner);
        lines.first().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
    }

    /// Return all messages.
    pub fn text(&self) -> String {
        LINES.lock().unwrap_or_else(PoisonError::into_inner).concat()
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Listener")
    }
}
