//! Proportional rate reduction (RFC 6937, with the conservative bound of its revision RFC 9937).

/// Reduces the window from its size before the loss to the slow start threshold within a round trip.
#[derive(Clone, Debug)]
pub struct RateReduction {
    prior_window: u64,
    threshold: u64,
    delivered: u64,
    sent: u64,
    window: u32,
}

impl RateReduction {
    /// Begin a recovery at `prior_window` that ends at `threshold`.
    pub fn new(prior_window: u32, threshold: u32) -> Self {
        Self {
            prior_window: u64::from(prior_window),
            threshold: u64::from(threshold),
            delivered: 0,
            sent: 0,
            window: prior_window,
        }
    }

    pub fn on_sent(&mut self, count: u32) {
        self.sent += u64::from(count);
    }

    /// Apply an ACK of `delivered` packets. `advanced`: it moves the cumulative point without new losses.
    pub fn on_ack(&mut self, delivered: u32, in_flight: u32, advanced: bool) {
        if delivered == 0 {
            return;
        }
        self.delivered += u64::from(delivered);
        let in_flight_wide = u64::from(in_flight);
        let may_send = if in_flight_wide > self.threshold {
            // RFC 6937 §3: sndcnt = CEIL(prr_delivered * ssthresh / RecoverFS) - prr_out
            (self.delivered * self.threshold).div_ceil(self.prior_window).saturating_sub(self.sent)
        } else {
            // PRR-SSRB (RFC 9937): grow back to ssthresh, one packet faster while recovery makes progress.
            let limit = self.delivered.saturating_sub(self.sent).max(u64::from(delivered));
            (limit + u64::from(advanced)).min(self.threshold - in_flight_wide)
        };
        // The first packet of a recovery always goes out (fast retransmit).
        let may_send = if self.sent == 0 { may_send.max(1) } else { may_send };
        self.window = in_flight + may_send as u32;
    }

    pub fn window(&self) -> u32 {
        self.window
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_of_100_sends_50_packets_while_100_are_delivered() {
        // RFC 6937: on average ssthresh / prior_window packets leave per packet delivered.
        let mut prr = RateReduction::new(100, 50);
        let mut in_flight = 100;
        let mut sent = 0;
        for _ in 0..100 {
            in_flight -= 1;
            prr.on_ack(1, in_flight, false);
            while in_flight < prr.window() {
                in_flight += 1;
                sent += 1;
                prr.on_sent(1);
            }
        }
        assert_eq!(sent, 50);
        assert_eq!(in_flight, 50);
    }
}
