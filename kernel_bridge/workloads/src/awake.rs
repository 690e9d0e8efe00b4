//! A thread that keeps the processor of an emulator from halting; `kernel_bridge/inside/awake.h` has the reason.

/// Start the thread if AWAKE is in the environment. It has the lowest priority.
pub fn keep_awake() {
    if std::env::var_os("AWAKE").is_some() {
        std::thread::spawn(stay_awake);
    }
}

fn stay_awake() {
    let lowest = libc::sched_param { sched_priority: 0 };
    // SAFETY: the call reads one sched_param, which lives until it returns.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &raw const lowest) };
    loop {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the instructions do nothing.
        unsafe {
            std::arch::asm!(".balign 4096", ".rept 510", "nop", ".endr", options(nomem, nostack));
        }
        #[cfg(not(target_arch = "x86_64"))]
        std::hint::spin_loop();
    }
}
