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
