//! Custom rewards: a weighted sum of [`TERMS`]. Penalties need negative weights or a plus (`delay:+1`).
//!
//! `utility` is proportional fairness (Kelly, Maulloo and Tan, 1998): a relative step of a window is worth
//! the same anywhere. With `throughput`, growth of a small window earns next to nothing.

use super::{delay, instability, lost_bytes_share, mean, recent_throughput, standard_deviation, utilisation};
use crate::report::ratio;
use crate::{FlowState, World};

/// A quantity that rewards add up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Term {
    /// Name in a reward's text.
    pub name: &'static str,
    /// The reward with this term alone; a penalty has the weight -1.
    pub alone: &'static str,
}

impl Term {
    /// Whether less is better, so the weight must be negative.
    pub fn is_penalty(&self) -> bool {
        self.alone != self.name
    }
}

/// The terms, in the order of their weights; `n` flows.
pub(super) const TERMS: [Term; 8] = [
    // Sum over flows of throughput / capacity, in [0, 1].
    Term { name: "throughput", alone: "throughput" },
    // Mean over flows of RTT / base RTT, less 1: base RTTs, in [0, 10].
    Term { name: "delay", alone: "delay:-1" },
    // Mean over flows of lost bytes / delivered bytes, in [0, 1].
    Term { name: "loss", alone: "loss:-1" },
    // Jain's index of the flows' throughput over 5 intervals, in [1/n, 1].
    Term { name: "fairness", alone: "fairness" },
    // 1 less the mean relative deviation of a flow's throughput over 5 intervals, in [0, 1].
    Term { name: "stability", alone: "stability" },
    // throughput / (1 + delay), in [0, 1]; 1 is the physical limit.
    Term { name: "power", alone: "power" },
    // Mean over flows of ln(throughput over 5 intervals / fair share of the capacity): nats, in [-3.5, ln n].
    Term { name: "utility", alone: "utility" },
    // 1 less fairness, in [0, 1 - 1/n]; 0 is best, as for utility.
    Term { name: "inequality", alone: "inequality:-1" },
];

/// Least share of the fair one in `utility`, so a flow that gets nothing has a finite utility.
const UTILITY_FLOOR: f64 = 0.03;

/// A weight for each term.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weights([f64; TERMS.len()]);

impl Weights {
    /// Parse `TERM[:WEIGHT],…` with a default weight of 1. A penalty's weight needs a minus or a plus.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut weights = [0.0; TERMS.len()];
        for part in text.split(',') {
            let (name, weight) = part.split_once(':').unwrap_or((part, "1"));
            let Some(term) = TERMS.iter().position(|term| term.name == name.trim()) else {
                return Err(format!("no reward or term is named {:?}", name.trim()));
            };
            let (weight, forced) = (weight.trim(), weight.trim().starts_with('+'));
            match weight.parse::<f64>() {
                Ok(weight) if weight > 0.0 && TERMS[term].is_penalty() && !forced => {
                    let name = TERMS[term].name;
                    return Err(format!(
                        "{name} is a penalty, so its weight must be negative: {name}:-{weight}; to reward it, \
                         write {name}:+{weight}"
                    ));
                }
                Ok(weight) if weight.is_finite() && weight != 0.0 && weights[term] == 0.0 => {
                    weights[term] = weight;
                }
                _ => return Err(format!("{part:?} must be TERM:WEIGHT, finite and not 0, each term once")),
            }
        }
        Ok(Self(weights))
    }

    /// Compute the weighted sum; `flows` must not be empty.
    pub(super) fn sum<'a>(self, world: &World, flows: impl Iterator<Item = &'a FlowState> + Clone) -> f64 {
        let throughput = utilisation(world, flows.clone());
        let delay = mean(flows.clone().map(|flow| delay(world, flow)));
        let fairness = fairness(flows.clone());
        let terms = [
            throughput,
            delay,
            mean(flows.clone().map(lost_bytes_share)),
            fairness,
            mean(flows.clone().map(|flow| (1.0 - instability(flow)).max(0.0))),
            throughput / (1.0 + delay),
            utility(world, flows),
            1.0 - fairness,
        ];
        self.0.iter().zip(terms).map(|(weight, term)| weight * term).sum()
    }
}

/// Kelly's utility of rates, relative to equal shares of the capacity.
fn utility<'a>(world: &World, flows: impl Iterator<Item = &'a FlowState> + Clone) -> f64 {
    let share = ratio(world.capacity_bytes_per_s, flows.clone().count() as f64);
    mean(flows.map(|flow| ratio(recent_throughput(flow), share).max(UTILITY_FLOOR).ln()))
}

/// Jain's index: (Σ x)² / (n Σ x²); 1 if no flow got anything.
fn fairness<'a>(flows: impl Iterator<Item = &'a FlowState> + Clone) -> f64 {
    let averages = flows.map(recent_throughput);
    let centre = mean(averages.clone());
    let relative = ratio(standard_deviation(averages), centre);
    // Σ x² = n (mean² + deviation²).
    1.0 / (1.0 + relative * relative)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{WORLD, flow_of as flow};
    use super::*;
    use crate::Report;

    fn check(reward: &str, flows: &[FlowState], expected: f64) {
        let got = Weights::parse(reward).unwrap().sum(&WORLD, flows.iter());
        assert!((got - expected).abs() < 1e-12, "{reward}: {got} is not {expected}");
    }

    #[test]
    fn each_term_equals_its_definition() {
        let queued =
            Report { avg_rtt_us: 45_000, lost_bytes: 1_000, delivered_bytes: 10_000, ..Report::default() };
        let flows = [flow(&[10_000_000; 5], queued)];
        check("throughput", &flows, 0.8);
        check("delay:-1", &flows, -0.5);
        check("loss:-1", &flows, -0.1);
        check("fairness", &flows, 1.0);
        check("stability", &flows, 1.0);
        check("power", &flows, 0.8 / 1.5);
    }

    #[test]
    fn fairness_is_jains_index_and_stability_the_deviation_over_time() {
        let pair = [flow(&[3_000_000; 5], Report::default()), flow(&[1_000_000; 5], Report::default())];
        // (3 + 1)² / (2 (9 + 1))
        check("fairness", &pair, 0.8);
        check("inequality:-1", &pair, 0.8 - 1.0);
        check("stability", &[flow(&[1_000_000, 3_000_000], Report::default())], 0.5);
    }

    #[test]
    fn utility_is_worth_as_much_for_each_share_of_a_flow_and_nothing_for_the_fair_one() {
        let flows = |rates: &[u64]| -> Vec<FlowState> {
            rates.iter().map(|rate| flow(&[*rate; 5], Report::default())).collect()
        };
        check("utility", &flows(&[6_250_000, 6_250_000]), 0.0);
        check("utility", &flows(&[3_125_000, 6_250_000]), 0.5f64.ln() / 2.0);
        check("utility", &flows(&[1_562_500, 6_250_000]), 0.25f64.ln() / 2.0);
        check("utility", &flows(&[0, 0]), 0.03f64.ln());
    }

    #[test]
    fn weights_add_up() {
        let flows = [flow(&[12_500_000; 5], Report { avg_rtt_us: 60_000, ..Report::default() })];
        check("throughput:2,delay:-0.5", &flows, 2.0 - 0.5);
        check("throughput, power : 4", &flows, 1.0 + 4.0 * 0.5);
    }

    #[test]
    fn a_penalty_has_a_minus_sign_or_is_paid_for_with_an_explicit_plus() {
        for (text, correction) in
            [("throughput:1,delay", "delay:-1"), ("loss:2", "loss:-2"), ("inequality:0.5", "-0.5")]
        {
            let rule = Weights::parse(text).unwrap_err();
            assert!(rule.contains("is a penalty") && rule.contains(correction), "{rule}");
        }
        let flows = [flow(&[12_500_000; 5], Report { avg_rtt_us: 60_000, ..Report::default() })];
        check("delay:+2", &flows, 2.0);
        for term in TERMS {
            assert_eq!(Weights::parse(term.name).is_err(), term.is_penalty(), "{}", term.name);
            assert!(Weights::parse(term.alone).is_ok(), "{}", term.alone);
        }
    }

    #[test]
    fn text_that_does_not_parse_is_reported_with_its_rule() {
        for text in ["throughput:", "throughput:one", "delay:0", "delay:-1,delay:-2", "loss:-inf"] {
            assert!(Weights::parse(text).unwrap_err().ends_with("each term once"), "{text}");
        }
        assert_eq!(Weights::parse("").unwrap_err(), "no reward or term is named \"\"");
    }
}
