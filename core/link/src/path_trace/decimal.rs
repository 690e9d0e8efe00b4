//! Parsing of a path trace's decimal numbers into integers, without floating-point rounding.

/// Largest value before scaling: 10^9 s, or 10^9 Mbit/s.
const LIMIT: u64 = 1_000_000_000;

/// Return `text × scale` as an integer, rounded to the nearest (half up).
///
/// `text` is digits with at most one point, not at the start (`12`, `0.1`); `scale` is a power of ten.
///
/// # Errors
/// Returns the rule that `text` breaks: not a number, not finite, negative, or beyond 10^9.
pub(super) fn parse_scaled(text: &str, scale: u64) -> Result<u64, String> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) {
        return Err(why_not(text));
    }
    let beyond = || format!("must be at most {LIMIT}, not {text}");
    let whole: u64 = whole.parse().map_err(|_| beyond())?;
    if whole >= LIMIT && (whole > LIMIT || fraction.bytes().any(|byte| byte != b'0')) {
        return Err(beyond());
    }
    let (mut value, mut unit) = (whole * scale, scale);
    for digit in fraction.bytes().map(|byte| u64::from(byte - b'0')) {
        if unit == 1 {
            // The first digit past the unit decides the rounding.
            return Ok(value + u64::from(digit >= 5));
        }
        unit /= 10;
        value += digit * unit;
    }
    Ok(value)
}

/// Parse a probability.
///
/// # Errors
/// Returns the rule that `text` breaks: not a number, not finite, or outside [0, 1].
pub(super) fn parse_probability(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        // The sum turns -0 into 0.
        Ok(value) if (0.0..=1.0).contains(&value) => Ok(value + 0.0),
        Ok(value) if value.is_finite() => Err(format!("must be within 0 and 1, not {text}")),
        _ => Err(why_not(text)),
    }
}

/// Explain why `text` is not a plain decimal.
fn why_not(text: &str) -> String {
    match text.parse::<f64>() {
        Ok(value) if !value.is_finite() => format!("must be finite, not {text}"),
        Ok(value) if value < 0.0 => format!("must not be negative, not {text}"),
        Ok(_) => format!("must be a plain decimal number, not {text}"),
        Err(_) => format!("must be a number, not {text:?}"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn decimals_become_exact_integers() {
        assert_eq!(parse_scaled("0", 1_000), Ok(0));
        assert_eq!(parse_scaled("12", 1_000), Ok(12_000));
        assert_eq!(parse_scaled("0.1", 1_000_000_000), Ok(100_000_000));
        assert_eq!(parse_scaled("172800.123456789", 1_000_000_000), Ok(172_800_123_456_789));
        assert_eq!(parse_scaled("1000000000.0", 1_000_000_000), Ok(1_000_000_000_000_000_000));
    }

    #[test]
    fn digits_past_the_unit_round_to_the_nearest() {
        assert_eq!(parse_scaled("1.2344", 1_000), Ok(1_234));
        assert_eq!(parse_scaled("1.2345", 1_000), Ok(1_235));
        assert_eq!(parse_scaled("1.9999999", 1_000), Ok(2_000));
    }

    #[test]
    fn what_is_not_a_plain_decimal_is_told_why() {
        let cases = [
            ("nan", "must be finite, not nan"),
            ("inf", "must be finite, not inf"),
            ("-inf", "must be finite, not -inf"),
            ("-1", "must not be negative, not -1"),
            ("1e-3", "must be a plain decimal number, not 1e-3"),
            ("+1", "must be a plain decimal number, not +1"),
            (".5", "must be a plain decimal number, not .5"),
            ("", "must be a number, not \"\""),
            ("1 ", "must be a number, not \"1 \""),
            ("1.2.3", "must be a number, not \"1.2.3\""),
            ("1000000000.001", "must be at most 1000000000, not 1000000000.001"),
            ("99999999999999999999", "must be at most 1000000000, not 99999999999999999999"),
        ];
        for (text, rule) in cases {
            assert_eq!(parse_scaled(text, 1_000_000_000), Err(rule.to_owned()));
        }
    }

    #[test]
    fn probabilities_lie_within_zero_and_one() {
        assert_eq!(parse_probability("0.25"), Ok(0.25));
        assert_eq!(parse_probability("1e-05"), Ok(1e-5));
        assert!(parse_probability("-0").is_ok_and(f64::is_sign_positive));
        assert_eq!(parse_probability("1.01"), Err("must be within 0 and 1, not 1.01".to_owned()));
        assert_eq!(parse_probability("-0.1"), Err("must be within 0 and 1, not -0.1".to_owned()));
        assert_eq!(parse_probability("NaN"), Err("must be finite, not NaN".to_owned()));
        assert_eq!(parse_probability("x"), Err("must be a number, not \"x\"".to_owned()));
    }

    proptest! {
        #[test]
        fn every_integer_written_as_a_decimal_is_read_back(value in 0u64..=LIMIT * 1_000_000) {
            let text = format!("{}.{:06}", value / 1_000_000, value % 1_000_000);
            prop_assert_eq!(parse_scaled(&text, 1_000_000), Ok(value));
        }

        #[test]
        fn no_text_panics(text in "[0-9.eE+-]{0,24}|\\PC*") {
            let _ = parse_scaled(&text, 1_000_000_000);
            let _ = parse_probability(&text);
        }
    }
}
