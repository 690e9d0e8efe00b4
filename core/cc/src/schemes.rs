//! Every scheme by its name. A variant of a scheme is one row here.

pub mod bbr;
pub mod bbr3;
pub mod bic;
pub mod cdg;
pub mod copa;
pub mod cubic;
pub mod external;
pub mod held;
pub mod highspeed;
pub mod htcp;
pub mod hybla;
pub mod illinois;
pub mod leocc;
pub mod leotcp;
pub mod lp;
pub mod nv;
pub mod reno;
pub mod satcp;
pub mod scalable;
pub mod starquic;
pub mod vegas;
pub mod veno;
pub mod vivace;
pub mod westwood;
pub mod yeah;

pub use bbr::Bbr;
pub use bbr3::Bbr3;
pub use bic::Bic;
pub use cdg::Cdg;
pub use copa::Copa;
pub use cubic::Cubic;
pub use highspeed::HighSpeed;
pub use htcp::Htcp;
pub use hybla::Hybla;
pub use illinois::Illinois;
pub use leocc::LeoCc;
pub use leotcp::LeoTcp;
pub use lp::Lp;
pub use nv::Nv;
pub use reno::Reno;
pub use satcp::SaTcp;
pub use scalable::Scalable;
pub use starquic::StarQuic;
pub use vegas::Vegas;
pub use veno::Veno;
pub use vivace::Vivace;
pub use westwood::Westwood;
pub use yeah::Yeah;

use crate::parts::hystart::Detect;
use crate::{Context, Scheme};
use leotcp::Ablation;
use satcp::Reporting;

/// What a path may announce to a scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Announcement {
    /// [`Context::handovers`].
    Handovers,
    /// [`Context::reconfiguration`].
    Reconfigurations,
}

/// A name, what the scheme makes use of if its path announces it, and how a connection of it begins.
type Row = (&'static str, Option<Announcement>, fn(&Context) -> Scheme);

const HANDOVERS: Option<Announcement> = Some(Announcement::Handovers);
const RECONFIGURATIONS: Option<Announcement> = Some(Announcement::Reconfigurations);

const ROWS: &[Row] = &[
    ("bbr", None, |context| Scheme::Bbr(Bbr::new(context))),
    ("bbr3", None, |context| Scheme::Bbr3(Bbr3::new(context))),
    ("bic", None, |_| Scheme::Bic(Bic::new())),
    ("cdg", None, |context| Scheme::Cdg(Cdg::new(context))),
    ("copa", None, |_| Scheme::Copa(Copa::new())),
    ("cubic", None, |_| Scheme::Cubic(Cubic::new(true))),
    ("cubic-hystart-delay", None, |_| Scheme::Cubic(Cubic::with_hystart(Detect::Delay))),
    ("cubic-hystart-train", None, |_| Scheme::Cubic(Cubic::with_hystart(Detect::Train))),
    ("cubic-hystartpp", None, |_| Scheme::Cubic(Cubic::with_hystart_plus_plus())),
    ("cubic-nohystart", None, |_| Scheme::Cubic(Cubic::new(false))),
    ("highspeed", None, |_| Scheme::HighSpeed(HighSpeed::new())),
    ("htcp", None, |_| Scheme::Htcp(Htcp::new())),
    ("hybla", None, |_| Scheme::Hybla(Hybla::new())),
    ("illinois", None, |_| Scheme::Illinois(Illinois::new())),
    ("leocc", RECONFIGURATIONS, |context| Scheme::LeoCc(LeoCc::new(context))),
    ("leotcp", None, |_| Scheme::LeoTcp(LeoTcp::new())),
    ("leotcp-noinitial", None, |_| Scheme::LeoTcp(LeoTcp::without(Ablation::InitialPhase))),
    ("leotcp-ownrtt", None, |_| Scheme::LeoTcp(LeoTcp::without(Ablation::AverageRtt))),
    ("lp", None, |context| Scheme::Lp(Lp::new(context))),
    ("nv", None, |context| Scheme::Nv(Nv::new(context))),
    ("reno", None, |_| Scheme::Reno(Reno::new())),
    ("satcp", HANDOVERS, |context| Scheme::SaTcp(SaTcp::new(context))),
    ("satcp-0.3s", HANDOVERS, |context| satcp(context, 0)),
    ("satcp-0.9s", HANDOVERS, |context| satcp(context, 300)),
    ("satcp-1.3s", HANDOVERS, |context| satcp(context, 500)),
    ("satcp-2.3s", HANDOVERS, |context| satcp(context, 1_000)),
    ("scalable", None, |_| Scheme::Scalable(Scalable::new())),
    ("starquic", RECONFIGURATIONS, |context| Scheme::StarQuic(StarQuic::new(Cubic::new(true), context))),
    ("starquic-bbr3", RECONFIGURATIONS, |context| {
        Scheme::StarQuicBbr3(StarQuic::around_model(Bbr3::new(context), context))
    }),
    ("vegas", None, |_| Scheme::Vegas(Vegas::new())),
    ("veno", None, |_| Scheme::Veno(Veno::new())),
    ("vivace", None, |context| Scheme::Vivace(Box::new(Vivace::nsdi_2018(context)))),
    ("vivace-kernel", None, |context| Scheme::Vivace(Box::new(Vivace::kernel(context)))),
    ("vivace-proteus", None, |context| Scheme::Vivace(Box::new(Vivace::proteus(context)))),
    ("westwood", None, |_| Scheme::Westwood(Westwood::new())),
    ("yeah", None, |_| Scheme::Yeah(Yeah::new())),
];

/// Names that [`Scheme::by_name`] takes, in order.
pub const NAMES: &[&str] = &{
    let mut names = [""; ROWS.len()];
    let mut index = 0;
    while index < ROWS.len() {
        names[index] = ROWS[index].0;
        index += 1;
    }
    names
};

/// SaTCP as the rows of its paper's Table I have it, each called by the freeze that the T_err of `early_ms` makes.
fn satcp(context: &Context, early_ms: u64) -> Scheme {
    Scheme::SaTcp(SaTcp::reported(context, Reporting::early_by_ms(early_ms)))
}

fn row(name: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.0 == name)
}

/// What the scheme called `name` makes use of, if its path announces it.
#[must_use]
pub fn announced_to(name: &str) -> Option<Announcement> {
    row(name).and_then(|row| row.1)
}

impl Scheme {
    /// The classic scheme called `name`, with the field's usual parameters.
    ///
    /// `context`: what the path announces, for those that make use of it.
    #[must_use]
    pub fn by_name(name: &str, context: &Context) -> Option<Self> {
        row(name).map(|row| row.2(context))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_order_and_each_is_there_once() {
        assert!(NAMES.is_sorted_by(|one, next| one < next), "{NAMES:?}");
    }

    #[test]
    fn variants_hear_what_their_scheme_hears() {
        for name in NAMES {
            if let Some((plain, _)) = name.split_once('-')
                && !matches!(plain, "cubic" | "vivace")
            {
                assert_eq!(announced_to(name), announced_to(plain), "{name}");
            }
        }
        assert_eq!(announced_to("satcp-0.3s"), Some(Announcement::Handovers));
    }
}
