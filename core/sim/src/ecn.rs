//! The bits of RFC 3168 that a packet carries.

/// Of the IP header, ECN-capable and congestion experienced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ecn(u8);

const CAPABLE: u8 = 1;
const EXPERIENCED: u8 = 2;

impl Ecn {
    /// A queue marks the packet, if it may: true.
    #[inline]
    pub fn mark(&mut self) -> bool {
        let capable = self.0 & CAPABLE != 0;
        if capable {
            self.0 |= EXPERIENCED;
        }
        capable
    }
}
