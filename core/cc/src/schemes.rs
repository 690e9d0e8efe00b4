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
pub mod prague;
pub mod reno;
pub mod satcp;
pub mod scalable;
pub mod starquic;
pub mod vegas;
pub mod veno;
pub mod vivace;
pub mod westwood;
pub mod yeah;

use crate::parts::hystart::{Detect, HyStart};
use crate::parts::window::Windowed;
use crate::{Context, Scheme};

/// An announcement of a path to a scheme.
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

/// The table: for each type, `Variant(Type) { … }` with its schemes, `"name" uses Announcement: constructor, "sentence";`.
/// The constructor's result is converted into the type.
macro_rules! schemes {
    ($dollar:tt $($variant:ident($type:ty) {
        $($name:literal $(uses $announcement:ident)?: $new:expr, $about:literal;)+
    })+) => {
        /// One variant per type, so the packet path has no virtual calls.
        #[derive(Clone, Debug)]
        pub enum Kind {
            External(external::External),
            Held(held::Held),
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
                Scheme::of(Kind::$variant(new(context).into()))
            },
        },)+)+];

        /// The names of [`TABLE`].
        pub const NAMES: &[&str] = &[$($($name),+),+];
    };
}

// The `$` is for the macro that this macro defines.
schemes! { $
    Bbr(bbr::Bbr) {
        "bbr": bbr::Bbr::new,
        "BBRv1: paces at its estimate of the bottleneck's bandwidth and probes it every eight RTTs.";
    }
    Bbr3(bbr3::Bbr3) {
        "bbr3": bbr3::Bbr3::new, "BBRv3: BBR that also backs off on loss and ECN.";
    }
    Bic(Windowed<bic::Bic>) {
        "bic": |_| bic::Bic::new(),
        "BIC (Xu et al., INFOCOM 2004): searches by halves for the window of the last loss, then beyond it.";
    }
    Cdg(Windowed<cdg::Cdg>) {
        "cdg": cdg::Cdg::new,
        "CDG (Hayes and Armitage, Networking 2011): backs off at random, the likelier the faster delay grows.";
    }
    Copa(copa::Copa) {
        "copa": |_| copa::Copa::new(),
        "Copa (Arun and Balakrishnan, NSDI 2018): aims at a rate inversely proportional to the queueing delay.";
    }
    Cubic(Windowed<cubic::Cubic>) {
        "cubic": |_| cubic::Cubic::new(true),
        "CUBIC (RFC 9438) with HyStart, the default of most operating systems: window growth is a cubic \
         function of the time since the last loss; multiplies by 0.7 on loss.";
        "cubic-hystart-delay": |_| cubic::Cubic::starting(HyStart::detecting(Detect::Delay)),
        "CUBIC whose HyStart looks at delays alone (Linux's hystart_detect 2).";
        "cubic-hystart-deviation": |_| cubic::Cubic::starting(HyStart::by_deviation()),
        "CUBIC whose HyStart exits when delay exceeds its mean by two deviations (Peters et al., 2021).";
        "cubic-hystart-nomax": |_| cubic::Cubic::starting(HyStart::without_maximum()),
        "CUBIC whose HyStart exits when delay grows by an eighth, without a maximum (Peters et al., 2021).";
        "cubic-hystart-train": |_| cubic::Cubic::starting(HyStart::detecting(Detect::Train)),
        "CUBIC whose HyStart looks at trains of ACKs alone (Linux's hystart_detect 1).";
        "cubic-hystartpp": |_| cubic::Cubic::with_hystart_plus_plus(),
        "CUBIC (RFC 9438) with HyStart++ (RFC 9406): when delay grows, slow start goes on slowly for a while.";
        "cubic-nohystart": |_| cubic::Cubic::new(false),
        "CUBIC (RFC 9438) whose slow start ends at the first loss.";
        "cubic-rapidstart": |_| cubic::Cubic::with_rapid_start(),
        "CUBIC with Rapid Start (draft-kazuho-ccwg-rapid-start-02): the window triples until a queue shows, \
         and converges by deliveries and losses.";
        "cubic-resume": cubic::Cubic::with_careful_resume,
        "CUBIC with Careful Resume (RFC 9959): jumps to half of the window that the flow's resume has saved; \
         without one it is CUBIC with HyStart.";
        "cubic-search": |_| cubic::Cubic::with_search(),
        "CUBIC with SEARCH (draft-chung-ccwg-search-10): slow start ends when deliveries fall behind what was \
         sent an RTT before.";
    }
    HighSpeed(Windowed<highspeed::HighSpeed>) {
        "highspeed": |_| highspeed::HighSpeed::default(),
        "HighSpeed TCP (RFC 3649): Reno that grows faster and backs off less the larger its window is.";
    }
    Htcp(Windowed<htcp::Htcp>) {
        "htcp": |_| htcp::Htcp::new(),
        "H-TCP (Leith and Shorten, PFLDnet 2004): grows faster the longer ago the last loss was.";
    }
    Hybla(Windowed<hybla::Hybla>) {
        "hybla": |_| hybla::Hybla::new(),
        "Hybla (Caini and Firrincieli, 2004): grows as a connection of 25 ms would, for long satellite RTTs.";
    }
    Illinois(Windowed<illinois::Illinois>) {
        "illinois": |_| illinois::Illinois::new(),
        "Illinois (Liu et al., 2006): loss says when to back off, delay says how far and how fast to grow.";
    }
    LeoCc(leocc::LeoCc) {
        "leocc" uses Reconfigurations: leocc::LeoCc::new,
        "LeoCC: BBR that knows when Starlink's path is reconfigured, and measures it anew.";
    }
    LeoTcp(leotcp::LeoTcp) {
        "leotcp": |_| leotcp::LeoTcp::new(), "LeoTCP: sets its window by in-band telemetry of every hop.";
        "leotcp-noinitial": |_| leotcp::LeoTcp::without(leotcp::Ablation::InitialPhase),
        "LeoTCP without its initial phase: it grows by 5 % of its share an RTT at once.";
        "leotcp-ownrtt": |_| leotcp::LeoTcp::without(leotcp::Ablation::AverageRtt),
        "LeoTCP that computes utilisation with the flow's own RTT, not the switches' average.";
    }
    Lp(Windowed<lp::Lp>) {
        "lp": lp::Lp::new,
        "TCP-LP (Kuzmanovic and Knightly, ToN 2006): low priority; backs off when one-way delay grows.";
    }
    Nv(Windowed<nv::Nv>) {
        "nv": nv::Nv::new, "TCP-NV (Brakmo, 2010): Vegas for data centres; keeps about ten packets queued.";
    }
    Prague(prague::Prague) {
        "prague": |_| prague::Prague::new(),
        "Prague (draft-briscoe-iccrg-prague-congestion-control): shrinks in proportion to the share of marks, for L4S queues.";
    }
    Reno(Windowed<reno::Reno>) {
        "reno": |_| reno::Reno,
        "NewReno (RFC 6582): adds one packet per RTT, halves on loss. The textbook yardstick.";
    }
    // Section V-B: about 90 % of predictions are within 0.6 s. Section VI-A tries 0, 0.3, 0.5 and 1 s.
    SaTcp(satcp::SaTcp) {
        "satcp" uses Handovers: |context| satcp::SaTcp::new(context, 600),
        "SaTCP (Cao and Zhang, INFOCOM 2023): CUBIC that returns fast from losses at announced handovers.";
        "satcp-0.3s" uses Handovers: |context| satcp::SaTcp::new(context, 0),
        "SaTCP whose reports come in time and whose window is frozen for 0.3 s.";
        "satcp-0.9s" uses Handovers: |context| satcp::SaTcp::new(context, 300),
        "SaTCP whose reports come 0.3 s early and whose window is frozen for 0.9 s.";
        "satcp-1.3s" uses Handovers: |context| satcp::SaTcp::new(context, 500),
        "SaTCP whose reports come 0.5 s early and whose window is frozen for 1.3 s.";
        "satcp-2.3s" uses Handovers: |context| satcp::SaTcp::new(context, 1_000),
        "SaTCP whose reports come 1 s early and whose window is frozen for 2.3 s.";
    }
    Scalable(Windowed<scalable::Scalable>) {
        "scalable": |_| scalable::Scalable,
        "Scalable TCP (Kelly, CCR 2003): grows by 1 % an RTT and takes 1/8 off on loss.";
    }
    StarQuic(starquic::StarQuic<Windowed<cubic::Cubic>>) {
        "starquic" uses Reconfigurations:
        |context| starquic::StarQuic::new(cubic::Cubic::new(true).into(), context),
        "StarQUIC on CUBIC: ignores losses of packets sent around a reconfiguration of Starlink's path.";
    }
    StarQuicBbr3(starquic::StarQuic<bbr3::Bbr3>) {
        "starquic-bbr3" uses Reconfigurations:
        |context| starquic::StarQuic::around_model(bbr3::Bbr3::new(context), context),
        "StarQUIC on BBRv3, which also learns nothing from packets sent around a reconfiguration.";
    }
    Vegas(Windowed<vegas::Vegas>) {
        "vegas": |_| vegas::Vegas::default(),
        "Vegas (Brakmo and Peterson, JSAC 1995): keeps two to four packets queued.";
    }
    Veno(Windowed<veno::Veno>) {
        "veno": |_| veno::Veno::new(),
        "Veno (Fu and Liew, JSAC 2003): Reno that treats a loss as random while few packets are queued.";
    }
    Vivace(Box<vivace::Vivace>) {
        "vivace": vivace::Vivace::nsdi_2018,
        "PCC Vivace (Dong et al., NSDI 2018): tries rates and follows the gradient of a utility.";
        "vivace-kernel": vivace::Vivace::kernel, "PCC Vivace as in PCC-Kernel.";
        "vivace-proteus": vivace::Vivace::proteus, "PCC Vivace as in PCC-Uspace's main branch (Proteus-P).";
    }
    Westwood(Windowed<westwood::Westwood>) {
        "westwood": |_| westwood::Westwood::new(),
        "Westwood+ (Grieco and Mascolo, CCR 2004): backs off to the measured bandwidth-delay product.";
    }
    Yeah(Windowed<yeah::Yeah>) {
        "yeah": |_| yeah::Yeah::new(),
        "YeAH (Baiocchi et al., PFLDnet 2007): Scalable while the queue is short, Reno while it is long.";
    }
}

/// Return the announcement that the scheme called `name` uses, if any.
pub fn announced_to(name: &str) -> Option<Announcement> {
    TABLE.iter().find(|row| row.name == name)?.hears
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_order_and_each_is_there_once() {
        assert!(NAMES.is_sorted_by(|name, next| name < next), "{NAMES:?}");
    }

    #[test]
    fn variants_hear_what_their_scheme_hears() {
        for name in NAMES {
            let variant = name.split_once('-').filter(|(plain, _)| !matches!(*plain, "cubic" | "vivace"));
            if let Some((plain, _)) = variant {
                assert_eq!(announced_to(name), announced_to(plain), "{name}");
            }
        }
        assert_eq!(announced_to("satcp-0.3s"), Some(Announcement::Handovers));
    }
}
