//! Memory that will be needed soon, asked for before it is.
//!
//! A thousand flows are more than a core's caches hold, and each packet is another flow's. Which flow's turn comes is
//! known some packets ahead, for links are FIFO: who drives many senders and receivers asks for theirs meanwhile.

const LINE: usize = 64;

/// Ask for the first `bytes` of `value`, or for all of it if it is smaller. Nothing changes but how long a look takes.
#[inline]
pub fn prefetch<T>(value: &T, bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let first = std::ptr::from_ref(value).cast::<i8>();
        for offset in (0..bytes.min(size_of::<T>())).step_by(LINE) {
            // SAFETY: a prefetch is a hint: whatever address it names, it neither faults nor changes memory.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(first.wrapping_add(offset)) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (value, bytes);
}
