//! What every scheme must do alone, and what sets each of them apart, against its own paper.

mod support;

use support::{dumbbell, run};

#[test]
fn every_scheme_alone_uses_a_static_link() {
    for name in leo_sim::SCHEMES {
        let log = run(&dumbbell(100.0, 25.0, 60.0, &[name]), 0);
        let flow = &log.flows[0];
        println!(
            "{name:18} {:.3} inflation {:.3} lost {} rtos {}",
            flow.normalized_goodput, flow.delay_inflation, flow.lost_packets, flow.rtos
        );
    }
}
