//! Costs of links by their load, as in the ARPANET's revised routing metric (HN-SPF; Khanna and Zinky, SIGCOMM 1989).

use leo_link::{Link, Nanos};

use crate::packet::Packet;

/// Utilisation up to which a link costs as much as an idle one.
const FREE_SHARE: f64 = 0.5;
/// By how much a link's cost changes from one period to the next, in costs of the idle link.
const LARGEST_STEP: f64 = 0.5;

/// The cost of a link over that of the idle link, from its utilisation in the last two periods.
///
/// It is 1 up to half of the capacity, and from there grows linearly to `most`. Averages, a bound and small steps keep all
/// routes from leaving a loaded link at once, which makes them oscillate.
#[derive(Clone, Copy, Debug)]
struct Price {
    average: f64,
    factor: f64,
}

impl Price {
    const IDLE: Self = Self { average: 0.0, factor: 1.0 };

    fn update(&mut self, utilisation: f64, most: f64) {
        self.average = f64::midpoint(self.average, utilisation.min(1.0));
        let above = (self.average - FREE_SHARE).max(0.0) / (1.0 - FREE_SHARE);
        let wanted = 1.0 + (most - 1.0) * above;
        self.factor = wanted.clamp(self.factor - LARGEST_STEP, self.factor + LARGEST_STEP);
    }
}

/// Measures the share of its capacity that each link carried since the last measurement.
#[derive(Clone, Debug, Default)]
pub struct Meter {
    since: Nanos,
    bytes: Vec<u64>,
    /// By link; 0 for links without a limit.
    pub utilisation: Vec<f64>,
}

impl Meter {
    pub fn measure(&mut self, now: Nanos, links: &mut [Link<Packet>]) {
        let seconds = (now - self.since) as f64 * 1e-9;
        self.since = now;
        self.bytes.resize(links.len(), 0);
        self.utilisation.resize(links.len(), 0.0);
        let measured = self.bytes.iter_mut().zip(&mut self.utilisation);
        for (link, (bytes, utilisation)) in links.iter_mut().zip(measured) {
            let delivered = link.stats(now).delivered_bytes;
            let capacity_bits = link.schedule().at(now).rate_bps as f64 * seconds;
            *utilisation =
                if seconds > 0.0 { (delivered - *bytes) as f64 * 8.0 / capacity_bits } else { 0.0 };
            *bytes = delivered;
        }
    }
}

/// Prices of all links, measured anew every period.
#[derive(Clone, Debug)]
pub struct Loads {
    period: Nanos,
    most: f64,
    due: Nanos,
    meter: Meter,
    prices: Vec<Price>,
}

impl Loads {
    /// Create for links that cost up to `most` times as much as idle ones.
    pub fn new(period: Nanos, most: f64) -> Self {
        Self { period, most, due: period, meter: Meter::default(), prices: Vec::new() }
    }

    /// Measure all links, if a period is over.
    pub fn measure(&mut self, now: Nanos, links: &mut [Link<Packet>]) {
        if now < self.due {
            return;
        }
        self.due = now + self.period;
        self.meter.measure(now, links);
        self.prices.resize(links.len(), Price::IDLE);
        for (price, &utilisation) in self.prices.iter_mut().zip(&self.meter.utilisation) {
            price.update(utilisation, self.most);
        }
    }

    /// Return the cost of a link over that of the idle link; links that did not exist are idle.
    pub fn factor(&self, link: u32) -> f64 {
        self.prices.get(link as usize).map_or(1.0, |price| price.factor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_link_costs_up_to_most_in_small_steps_and_a_half_full_one_no_more_than_an_idle_one() {
        let after = |utilisation: &[f64]| {
            let mut price = Price::IDLE;
            let factors = utilisation.iter().map(|&share| {
                price.update(share, 3.0);
                price.factor
            });
            factors.collect::<Vec<_>>()
        };
        // Averages: 0.5, 0.75, 0.875, …
        assert_eq!(after(&[1.0; 6])[..5], [1.0, 1.5, 2.0, 2.5, 2.875]);
        assert_eq!(after(&[0.5; 20]), [1.0; 20]);
        let falls = after(&[1.0, 1.0, 1.0, 1.0, 0.0, 0.0]);
        assert_eq!(falls[3..], [2.5, 2.0, 1.5]);
    }
}
