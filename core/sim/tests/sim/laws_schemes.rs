//! Laws of every scheme alone, and of single schemes from their papers.

use crate::support::{dumbbell, run};

#[test]
fn every_scheme_alone_uses_a_static_link() {
    for name in leo_sim::SCHEMES {
        let log = run(&dumbbell(100.0, 25.0, 60.0, &[name]), 0);
        let flow = &log.flows[0];
        // CDG backs off at random even on an empty path: on Linux 6.1, it used 0.83 to 0.93 of 10 Mbit/s.
        let least = if *name == "cdg" { 0.8 } else { 0.85 };
        assert!(flow.normalized_goodput > least, "{flow:?}");
        assert!(flow.delay_inflation < 2.0, "{flow:?}");
        assert_eq!(flow.rtos, 0, "{flow:?}");
    }
}
