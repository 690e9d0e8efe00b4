//! The ECN that a flow's ends support.

use leo_transport::{EcnMode, negotiate};
use serde::Deserialize;

use super::fields::{EcnEndsSpec, EcnSupport};

/// The support of both ends, or of each.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(
    untagged,
    expecting = "must be true, false, none, classic, accurate, or one of the last three for sender and receiver"
)]
pub enum EcnSpec {
    /// Whether the flow uses ECN, with the feedback that its scheme needs.
    Whether(bool),
    /// The same on both ends.
    Both(EcnSupport),
    /// Each end's own.
    Ends(EcnEndsSpec),
}

impl Default for EcnSpec {
    fn default() -> Self {
        Self::Whether(false)
    }
}

impl From<EcnSupport> for EcnMode {
    fn from(support: EcnSupport) -> Self {
        match support {
            EcnSupport::None => Self::Off,
            EcnSupport::Classic => Self::Classic,
            EcnSupport::Accurate => Self::Accurate,
        }
    }
}

impl EcnSpec {
    /// Return what the ends agree on. `scalable`: the scheme needs accurate feedback. As in Linux, such a scheme asks for
    /// it even where ECN is off by default (TCP_CONG_NEEDS_ACCECN).
    pub fn negotiated(self, scalable: bool) -> EcnMode {
        let both = |mode| negotiate(mode, mode);
        match self {
            Self::Whether(_) if scalable => both(EcnMode::Accurate),
            Self::Whether(true) => both(EcnMode::Classic),
            Self::Whether(false) => EcnMode::Off,
            Self::Both(support) => both(support.into()),
            Self::Ends(ends) => negotiate(ends.sender.into(), ends.receiver.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agreed(json: &str, scalable: bool) -> EcnMode {
        serde_json::from_str::<EcnSpec>(json).expect(json).negotiated(scalable)
    }

    #[test]
    fn ends_agree_on_what_both_support_and_a_scalable_scheme_asks_for_more_unless_it_is_forbidden() {
        let modes = [
            ("false", EcnMode::Off, EcnMode::Accurate),
            ("true", EcnMode::Classic, EcnMode::Accurate),
            (r#""none""#, EcnMode::Off, EcnMode::Off),
            (r#""classic""#, EcnMode::Classic, EcnMode::Classic),
            (r#""accurate""#, EcnMode::Accurate, EcnMode::Accurate),
            (r#"{"sender": "accurate", "receiver": "classic"}"#, EcnMode::Classic, EcnMode::Classic),
            (r#"{"sender": "none", "receiver": "accurate"}"#, EcnMode::Off, EcnMode::Off),
        ];
        for (json, others, scalable) in modes {
            assert_eq!((agreed(json, false), agreed(json, true)), (others, scalable), "{json}");
        }
    }

    #[test]
    fn what_is_not_ecn_is_refused_with_what_is() {
        for json in ["1", r#""ect""#, r#"{"sender": "accurate"}"#, "null"] {
            let error = serde_json::from_str::<EcnSpec>(json).expect_err(json).to_string();
            assert!(error.contains("must be true, false, none, classic, accurate"), "{error}");
        }
    }
}
