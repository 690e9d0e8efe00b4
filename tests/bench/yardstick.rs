//! A fixed workload like the simulator's, to measure the machine's speed: `yardstick FLOWS PACKETS`.
//!
//! Each packet is an event from a binary heap of 512, takes a slot of one of FLOWS windows (64 packets of 48 bytes) and
//! a random decision, and puts an event back. Like a packet-level simulator it needs unpredictable branches, integer
//! arithmetic and memory proportional to the flows.
//! Prints packets per second of CPU time, the best of several turns.
//! Built with only `rustc -O`: it must not change with the simulator.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

const EVENTS: usize = 512;
const WINDOW: usize = 64;
const TURNS: usize = 5;

#[derive(Clone, Copy, Default)]
struct Slot {
    sent_ns: u64,
    number: u64,
    rest: [u64; 4],
}

fn main() {
    let arguments: Vec<usize> =
        std::env::args().skip(1).map(|word| word.parse().expect("usage: yardstick FLOWS PACKETS")).collect();
    let [flows, packets] = arguments[..] else { panic!("usage: yardstick FLOWS PACKETS") };
    let mut windows = vec![[Slot::default(); WINDOW]; flows];
    let mut events: BinaryHeap<_> = (0..EVENTS).map(|event| Reverse((event as u64, event))).collect();
    let (mut random, mut carried, mut least_s) = (1_u64, 0_u64, f64::INFINITY);
    for _ in 0..TURNS {
        let begin_s = cpu_s();
        for number in 0..packets as u64 {
            let Some(Reverse((now_ns, source))) = events.pop() else { break };
            let flow = (source + number as usize) % flows;
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let slot = &mut windows[flow][number as usize % WINDOW];
            carried = carried.wrapping_add(slot.number ^ (now_ns - slot.sent_ns));
            let sent_ns = now_ns;
            *slot = Slot { sent_ns, number, rest: [carried, now_ns, random, slot.rest[0]] };
            let gap_ns = if random >> 62 == 0 { 120_000 } else { 40_000 + (random >> 50) };
            events.push(Reverse((now_ns + gap_ns, source)));
        }
        least_s = least_s.min(cpu_s() - begin_s);
    }
    println!("{} {}", packets as f64 / least_s, carried);
}

/// Returns this process's CPU time in s (/proc/self/schedstat has it in ns).
fn cpu_s() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").expect("/proc/self/schedstat");
    text.split(' ').next().and_then(|word| word.parse::<f64>().ok()).expect("a number") / 1e9
}
