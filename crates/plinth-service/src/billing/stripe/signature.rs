//! The signature of Stripe's events: the header `Stripe-Signature: t=TIME,v1=HMAC`, where the HMAC is the SHA-256 HMAC of
//! `TIME.BODY` in hex. Stripe sends several fields `v1` while a secret is replaced.

use hmac::{Hmac, KeyInit as _, Mac as _};
use plinth_spec::limits;
use sha2::Sha256;

/// Maximum number of signatures that are compared. Stripe sends one signature for each valid secret.
const SIGNATURES: usize = 8;

/// Returns whether one of the secrets signed the body at a time that is at most five minutes from `now_secs`. HMACs are
/// compared in constant time.
pub(super) fn is_valid(header: &str, body: &[u8], secrets: &[String], now_secs: i64) -> bool {
    let fields = || header.split(',').filter_map(|field| field.trim().split_once('='));
    let mut times = fields().filter(|(name, _)| *name == "t").map(|(_, value)| value);
    let (Some(time), None) = (times.next(), times.next()) else { return false };
    let Ok(secs) = time.parse::<i64>() else { return false };
    if secs.abs_diff(now_secs) > limits::PAYMENT_EVENT_SECS.unsigned_abs() {
        return false;
    }
    let signatures = fields().filter(|(name, _)| *name == "v1").take(SIGNATURES);
    let signatures: Vec<Vec<u8>> = signatures.filter_map(|(_, value)| hex::decode(value).ok()).collect();
    // Computes one HMAC per secret, not per signature, because anybody may send many signatures.
    let hmac = |secret: &String| {
        let mut hmac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).ok()?;
        hmac.update(time.as_bytes());
        hmac.update(b".");
        hmac.update(body);
        Some(hmac)
    };
    secrets.iter().filter_map(hmac).any(|hmac| signatures.iter().any(|one| hmac.clone().verify_slice(one).is_ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &[u8] = br#"{"id":"evt_1"}"#;
    /// HMAC of `1700000000.{"id":"evt_1"}` with the key `whsec_test`, computed with OpenSSL.
    const V1: &str = "c89214b5b5da833daed6f0b8c5bb6bd58cea9022bd80ccc78230f3942d632925";

    fn check(header: &str, secrets: &[&str], now_secs: i64) -> bool {
        let secrets: Vec<String> = secrets.iter().map(|secret| (*secret).to_owned()).collect();
        is_valid(header, BODY, &secrets, now_secs)
    }

    #[test]
    fn a_signature_is_valid_for_five_minutes() {
        let header = format!("t=1700000000,v1={V1}");
        for (offset, is_good) in [(0, true), (300, true), (-300, true), (301, false), (-301, false)] {
            assert_eq!(check(&header, &["whsec_test"], 1_700_000_000 + offset), is_good, "{offset}");
        }
    }

    #[test]
    fn one_of_several_signatures_and_secrets_is_enough() {
        let header = format!("t=1700000000, v1=00, v0={V1}, v1={V1}");
        assert!(check(&header, &["whsec_old", "whsec_test"], 1_700_000_000));
        assert!(!check(&header, &["whsec_old"], 1_700_000_000));
        assert!(!check(&header, &[], 1_700_000_000));
        let after = |others: usize| format!("t=1700000000{},v1={V1}", ",v1=00".repeat(others));
        assert!(check(&after(SIGNATURES - 1), &["whsec_test"], 1_700_000_000));
        assert!(!check(&after(SIGNATURES), &["whsec_test"], 1_700_000_000));
    }

    #[test]
    fn everything_else_is_rejected() {
        let other = V1.replace(char::from(V1.as_bytes()[0]), "0");
        for header in [
            String::new(),
            "t=1700000000".to_owned(),
            format!("v1={V1}"),
            format!("t=1700000000,v0={V1}"),
            format!("t=1700000001,v1={V1}"),
            format!("t=1700000000,t=1700000000,v1={V1}"),
            format!("t=1700000000,v1={}", V1.get(..62).unwrap()),
            format!("t=1700000000,v1={other}0"),
            "t=1700000000,v1=".to_owned(),
            format!("t= 1700000000,v1={V1}"),
        ] {
            assert!(!check(&header, &["whsec_test"], 1_700_000_000), "{header}");
        }
    }
}
