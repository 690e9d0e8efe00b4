//! All schemes: each has a file in this folder and a row in the table below.

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

use bbr::Bbr;
use bbr3::Bbr3;
use bic::Bic;
use cdg::Cdg;
use copa::Copa;
use cubic::Cubic;
use external::External;
use held::Held;
use highspeed::HighSpeed;
use htcp::Htcp;
use hybla::Hybla;
use illinois::Illinois;
use leocc::LeoCc;
use leotcp::{Ablation, LeoTcp};
use lp::Lp;
use nv::Nv;
use reno::Reno;
use satcp::{Reporting, SaTcp};
use scalable::Scalable;
use starquic::StarQuic;
use vegas::Vegas;
use veno::Veno;
use vivace::Vivace;
use westwood::Westwood;
use yeah::Yeah;

use crate::parts::hystart::Detect;
use crate::parts::window::Windowed;
use crate::{Context, Scheme};

/// What a path can announce to a scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Announcement {
    /// [`Context::handovers`].
    Handovers,
    /// [`Context::reconfiguration`].
    Reconfigurations,
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The name in scenarios and on command lines.
    pub name: &'static str,
    /// A sentence for users.
    pub about: &'static str,
    /// The announcement that the scheme uses.
    pub(crate) hears: Option<Announcement>,
    pub(crate) new: fn(&Context) -> Scheme,
}

/// The table: for each type, `Variant(Type) { … }` with its schemes, `"name" uses Announcement: constructor, "a sentence";`.
/// The constructor's result is converted into the type.
macro_rules! schemes {
    ($dollar:tt $($variant:ident($type:ty) {
        $($name:literal $(uses $announcement:ident)?: $new:expr, $about:literal;)+
    })+) => {
        /// One variant per type, so the packet path has no virtual calls.
        #[derive(Clone, Debug)]
        pub enum Kind {
            External(External),
            Held(Held),
            $($variant($type),)+
        }

        /// Make the same call on any [`Kind`].
        macro_rules! each {
            ($dollar kind:expr, $dollar scheme:ident => $dollar call:expr) => {
                match $dollar kind {
                    $crate::schemes::Kind::External($dollar scheme) => $dollar call,
                    $crate::schemes::Kind::Held($dollar scheme) => $dollar call,
                    $($crate::schemes::Kind::$variant($dollar scheme) => $dollar call,)+
                }
            };
        }
        pub(crate) use each;

        /// All schemes, sorted by name.
        pub const TABLE: &[Row] = &[$($(Row {
            name: $name,
            about: $about,
            hears: [$(Announcement::$announcement)?].first().copied(),
            new: |context| {
                let new: fn(&Context) -> _ = $new;
                Scheme(Kind::$variant(new(context).into()))
            },
        },)+)+];

        /// The names of [`TABLE`].
        pub const NAMES: &[&str] = &[$($($name),+),+];
    };
}

// The `$` is for the macro that this macro defines.
schemes! { $
    Bbr(Bbr) {
        "bbr": Bbr::new,
        "BBRv1: paces at its estimate of the bottleneck's bandwidth and probes it every eight RTTs.";
    }
    Bbr3(Bbr3) {
        "bbr3": Bbr3::new, "BBRv3: BBR that also backs off on loss and ECN.";
    }
    Bic(Windowed<Bic>) {
        "bic": |_| Bic::new(),
        "BIC (Xu et al., INFOCOM 2004): searches by halves for the window of the last loss, then beyond it.";
    }
    Cdg(Windowed<Cdg>) {
        "cdg": Cdg::new,
        "CDG (Hayes and Armitage, Networking 2011): backs off at random, the likelier the faster delay grows.";
    }
    Copa(Copa) {
        "copa": |_| Copa::new(),
        "Copa (Arun and Balakrishnan, NSDI 2018): aims at a rate inversely proportional to the queueing delay.";
    }
    Cubic(Windowed<Cubic>) {
        "cubic": |_| Cubic::new(true),
        "CUBIC (RFC 9438) with HyStart, the default of most operating systems: window growth is a cubic \
         function of the time since the last loss; multiplies by 0.7 on loss.";
        "cubic-hystart-delay": |_| Cubic::with_hystart(Detect::Delay),
        "CUBIC whose HyStart looks at delays alone (Linux's hystart_detect 2).";
        "cubic-hystart-train": |_| Cubic::with_hystart(Detect::Train),
        "CUBIC whose HyStart looks at trains of ACKs alone (Linux's hystart_detect 1).";
        "cubic-hystartpp": |_| Cubic::with_hystart_plus_plus(),
        "CUBIC (RFC 9438) with HyStart++ (RFC 9406): when delay grows, slow start goes on slowly for a while.";
        "cubic-nohystart": |_| Cubic::new(false),
        "CUBIC (RFC 9438) whose slow start ends at the first loss.";
    }
    HighSpeed(Windowed<HighSpeed>) {
        "highspeed": |_| HighSpeed::default(),
        "HighSpeed TCP (RFC 3649): Reno that grows faster and backs off less the larger its window is.";
    }
    Htcp(Windowed<Htcp>) {
        "htcp": |_| Htcp::new(),
        "H-TCP (Leith and Shorten, PFLDnet 2004): grows faster the longer ago the last loss was.";
    }
    Hybla(Windowed<Hybla>) {
        "hybla": |_| Hybla::new(),
        "Hybla (Caini and Firrincieli, 2004): grows as a connection of 25 ms would, for long satellite RTTs.";
    }
    Illinois(Windowed<Illinois>) {
        "illinois": |_| Illinois::new(),
        "Illinois (Liu et al., 2006): loss says when to back off, delay says how far and how fast to grow.";
    }
    LeoCc(LeoCc) {
        "leocc" uses Reconfigurations: LeoCc::new,
        "LeoCC: BBR that knows when Starlink's path is reconfigured, and measures it anew.";
    }
    LeoTcp(LeoTcp) {
        "leotcp": |_| LeoTcp::new(), "LeoTCP: sets its window by in-band telemetry of every hop.";
        "leotcp-noinitial": |_| LeoTcp::without(Ablation::InitialPhase),
        "LeoTCP without its initial phase: it grows by 5 % of its share an RTT at once.";
        "leotcp-ownrtt": |_| LeoTcp::without(Ablation::AverageRtt),
        "LeoTCP that computes utilisation with the flow's own RTT, not the switches' average.";
    }
    Lp(Windowed<Lp>) {
        "lp": Lp::new,
        "TCP-LP (Kuzmanovic and Knightly, ToN 2006): low priority; backs off when one-way delay grows.";
    }
    Nv(Windowed<Nv>) {
        "nv": Nv::new, "TCP-NV (Brakmo, 2010): Vegas for data centres; keeps about ten packets queued.";
    }
    Reno(Windowed<Reno>) {
        "reno": |_| Reno,
        "NewReno (RFC 6582): adds one packet per RTT, halves on loss. The textbook yardstick.";
    }
    SaTcp(SaTcp) {
        "satcp" uses Handovers: SaTcp::new,
        "SaTCP (Cao and Zhang, INFOCOM 2023): CUBIC that returns fast from losses at announced handovers.";
        "satcp-0.3s" uses Handovers: |context| SaTcp::reported(context, Reporting::early_by_ms(0)),
        "SaTCP whose reports come in time and whose window is frozen for 0.3 s.";
        "satcp-0.9s" uses Handovers: |context| SaTcp::reported(context, Reporting::early_by_ms(300)),
        "SaTCP whose reports come 0.3 s early and whose window is frozen for 0.9 s.";
        "satcp-1.3s" uses Handovers: |context| SaTcp::reported(context, Reporting::early_by_ms(500)),
        "SaTCP whose reports come 0.5 s early and whose window is frozen for 1.3 s.";
        "satcp-2.3s" uses Handovers: |context| SaTcp::reported(context, Reporting::early_by_ms(1_000)),
        "SaTCP whose reports come 1 s early and whose window is frozen for 2.3 s.";
    }
    Scalable(Windowed<Scalable>) {
        "scalable": |_| Scalable,
        "Scalable TCP (Kelly, CCR 2003): grows by 1 % an RTT and takes 1/8 off on loss.";
    }
    StarQuic(StarQuic<Windowed<Cubic>>) {
        "starquic" uses Reconfigurations: |context| StarQuic::new(Cubic::new(true).into(), context),
        "StarQUIC on CUBIC: ignores losses of packets sent around a reconfiguration of Starlink's path.";
    }
    StarQuicBbr3(StarQuic<Bbr3>) {
        "starquic-bbr3" uses Reconfigurations: |context| StarQuic::around_model(Bbr3::new(context), context),
        "StarQUIC on BBRv3, which also learns nothing from packets sent around a reconfiguration.";
    }
    Vegas(Windowed<Vegas>) {
        "vegas": |_| Vegas::default(),
        "Vegas (Brakmo and Peterson, JSAC 1995): keeps two to four packets queued.";
    }
    Veno(Windowed<Veno>) {
        "veno": |_| Veno::new(),
        "Veno (Fu and Liew, JSAC 2003): Reno that takes a loss for random while few packets are queued.";
    }
    Vivace(Box<Vivace>) {
        "vivace": Vivace::nsdi_2018,
        "PCC Vivace (Dong et al., NSDI 2018): tries rates and follows the gradient of a utility.";
        "vivace-kernel": Vivace::kernel, "PCC Vivace as in PCC-Kernel.";
        "vivace-proteus": Vivace::proteus, "PCC Vivace as in PCC-Uspace's main branch (Proteus-P).";
    }
    Westwood(Windowed<Westwood>) {
        "westwood": |_| Westwood::new(),
        "Westwood+ (Grieco and Mascolo, CCR 2004): backs off to the measured bandwidth-delay product.";
    }
    Yeah(Windowed<Yeah>) {
        "yeah": |_| Yeah::new(),
        "YeAH (Baiocchi et al., PFLDnet 2007): Scalable while the queue is short, Reno while it is long.";
    }
}

/// Return the announcement that the scheme called `name` uses, if any.
#[must_use]
pub fn announced_to(name: &str) -> Option<Announcement> {
    TABLE.iter().find(|row| row.name == name)?.hears
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
