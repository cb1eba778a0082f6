//! Format of API keys: `<prefix>_sk_`, 32 random characters and a checksum of 6 characters.

use plinth_spec::id::ALPHABET;

use crate::hash::sha256_hex;
use crate::ids::random_text;

const MARK: &str = "_sk_";
const SECRET_CHARS: usize = 32;
const CHECKSUM_CHARS: usize = 6;

/// A new API key. Only `sha256`, the prefix and `last4` are stored.
#[derive(Clone, Debug)]
pub(super) struct Secret {
    /// The complete token.
    pub text: String,
    /// SHA-256 of the token, with which the token is looked up in the database.
    pub sha256: String,
    /// Last four characters, which the owner sees in the list of keys.
    pub last4: String,
}

/// Generates a token.
pub(super) fn make(prefix: &str) -> Secret {
    let secret = random_text(SECRET_CHARS);
    let text = format!("{prefix}{MARK}{secret}{}", checksum(&secret));
    let last4 = text.chars().skip(text.chars().count() - 4).collect();
    Secret { sha256: sha256_hex(&text), last4, text }
}

/// Returns the hash that is used to look up a token. Returns `None` if the format or the checksum of the token is
/// wrong.
pub(super) fn lookup(text: &str, prefixes: [&str; 2]) -> Option<String> {
    let body = prefixes.iter().find_map(|prefix| text.strip_prefix(prefix)?.strip_prefix(MARK))?;
    let is_word = body.len() == SECRET_CHARS + CHECKSUM_CHARS && body.bytes().all(|b| b.is_ascii_alphanumeric());
    let (secret, sum) = is_word.then(|| body.split_at(SECRET_CHARS))?;
    (checksum(secret) == sum).then(|| sha256_hex(text))
}

/// Returns the CRC-32 of a secret in base 62. The checksum lets secret scanners distinguish a token from random text.
fn checksum(secret: &str) -> String {
    let mut rest = crc32fast::hash(secret.as_bytes());
    let mut digits = [b'0'; CHECKSUM_CHARS];
    for digit in digits.iter_mut().rev() {
        *digit = ALPHABET[rest as usize % ALPHABET.len()];
        rest /= 62;
    }
    digits.map(char::from).iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PREFIXES: [&str; 2] = ["plinth", "turntable"];

    #[test]
    fn tokens_of_both_prefixes_are_looked_up_by_their_hash() {
        for prefix in PREFIXES {
            let secret = make(prefix);
            assert!(secret.text.starts_with(&format!("{prefix}_sk_")));
            assert_eq!(lookup(&secret.text, PREFIXES), Some(secret.sha256));
            assert!(secret.last4.len() == 4 && secret.text.ends_with(&secret.last4));
        }
    }

    #[test]
    fn a_mistyped_token_is_rejected_by_its_checksum() {
        let text = make("plinth").text;
        for at in "plinth_sk_".len()..text.len() {
            let mut other = text.clone().into_bytes();
            other[at] = if other[at] == b'x' { b'y' } else { b'x' };
            assert_eq!(lookup(&String::from_utf8(other).unwrap(), PREFIXES), None, "character {at}");
        }
    }

    #[test]
    fn a_checksum_is_the_crc_32_in_base_62() {
        // The CRC-32 of this text is 0xcbf4_3926, or 3_421_780_262.
        assert_eq!(checksum("123456789"), "3jZRME");
    }

    #[test]
    fn other_texts_are_rejected() {
        let text = make("other").text;
        for bad in ["", "plinth_sk_", "plinth_sk_short", "plinth", &text, &format!("{}é", make("plinth").text)] {
            assert_eq!(lookup(bad, PREFIXES), None, "{bad}");
        }
    }
}
