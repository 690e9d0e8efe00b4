//! The memory that the next acknowledgement will need.

use super::Sender;
use crate::prefetch::prefetch;

/// What the schemes of most flows keep at hand.
const SCHEME_BYTES: usize = 320;

impl Sender {
    /// Ask for what taking in an acknowledgement, and sending what it allows, will read of the sender itself.
    pub fn prefetch(&self) {
        prefetch(&self.board, usize::MAX);
        prefetch(&self.scheme, SCHEME_BYTES);
        prefetch(&self.rtt, usize::MAX);
        prefetch(&self.delivery, usize::MAX);
        prefetch(&self.rack, usize::MAX);
        prefetch(&self.undo, usize::MAX);
        prefetch(&self.reduction, usize::MAX);
        prefetch(&self.supply, usize::MAX);
        prefetch(&self.sacked, usize::MAX);
        prefetch(&self.pacer, usize::MAX);
        prefetch(&self.usage, usize::MAX);
        prefetch(&self.stats, usize::MAX);
        prefetch(&self.interval, usize::MAX);
        prefetch(&self.tail, usize::MAX);
        prefetch(&self.reordering_deadline, usize::MAX);
        prefetch(&self.closed, usize::MAX);
    }

    /// Ask for the oldest packet of its window. [`Sender::prefetch`] comes some time before.
    pub fn prefetch_oldest(&self) {
        self.board.prefetch_oldest();
    }
}
