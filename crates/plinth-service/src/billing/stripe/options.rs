//! Configuration of the sale of credits.

use url::Url;

/// Configuration of the sale of credits.
#[derive(Clone)]
pub struct StripeOptions {
    /// Secret key of the API.
    pub secret_key: String,
    /// Secrets that sign events. There are several while a secret is replaced.
    pub webhook_secrets: Vec<String>,
    /// URL of the API.
    pub url: Url,
}

impl StripeOptions {
    /// Default URL of the API.
    pub const URL: &str = "https://api.stripe.com";

    /// Returns whether the key is a test key, with which no money moves.
    pub fn is_test(&self) -> bool {
        self.secret_key.starts_with("sk_test_") || self.secret_key.starts_with("rk_test_")
    }
}

impl std::fmt::Debug for StripeOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StripeOptions").field("url", &self.url.as_str()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(secret_key: &str) -> StripeOptions {
        let url = StripeOptions::URL.parse().unwrap();
        StripeOptions { secret_key: secret_key.to_owned(), webhook_secrets: vec!["whsec_hidden".to_owned()], url }
    }

    #[test]
    fn test_keys_are_recognized() {
        for (key, is_test) in [("sk_test_1", true), ("rk_test_1", true), ("sk_live_1", false), ("rk_live_1", false)] {
            assert_eq!(options(key).is_test(), is_test, "{key}");
        }
    }

    #[test]
    fn logs_show_no_secret() {
        assert_eq!(format!("{:?}", options("sk_test_1")), r#"StripeOptions { url: "https://api.stripe.com/", .. }"#);
    }
}
