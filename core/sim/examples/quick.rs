use leo_sim::*;
fn main() {
    let scheme = std::env::args().nth(1).unwrap_or("cubic".into());
    let n: usize = std::env::args().nth(2).map_or(1, |v| v.parse().unwrap());
    let dur: f64 = std::env::args().nth(3).map_or(60., |v| v.parse().unwrap());
    let flows: Vec<String> = (0..n).map(|i| format!(r#"{{"scheme":"{scheme}","route":["b"],"start_s":{}}}"#, i as f64 * dur / 4. / n as f64)).collect();
    let json = format!(r#"{{"duration_s":{dur},"links":{{"b":{{"rate_mbps":100,"delay_ms":25}}}},"flows":[{}]}}"#, flows.join(","));
    let s = Scenario::from_json(&json).unwrap();
    #[allow(clippy::disallowed_methods)]
    let t = std::time::Instant::now();
    let mut sim = Simulation::new(&s, &Default::default(), &Default::default(), 30_000_000, if n<5 {1_000_000_000} else {0}).unwrap();
    sim.run();
    let dt = t.elapsed().as_secs_f64();
    let log = sim.run_log();
    for f in log.flows.iter().take(3) { println!("{f:?}"); }
    for l in &log.links { println!("{l:?}"); println!("{:.2} Mpkt/s, {:.0} sim s/s", l.stats.offered as f64 / dt / 1e6, dur / dt); }
    if n == 1 { println!("{:?}", log.flow_series.goodput_mbps.iter().map(|x| x.round()).collect::<Vec<_>>()); println!("{:?}", log.flow_series.cwnd_packets);}
}
