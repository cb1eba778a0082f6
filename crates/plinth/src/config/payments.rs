//! Configuration of the sale of credits and of the mail server.

use anyhow::{Result, bail};
use plinth_service::MailOptions;
use plinth_service::billing::StripeOptions;
use plinth_spec::wire::Product;
use url::Url;

use super::lookup::Lookup;
use super::table as row;

/// Credit packs of a server that sells credits but has no credit packs in its configuration: id, credits, and price in
/// US cents.
const PACKS: [(&str, u64, u64); 3] = [("small", 500, 900), ("medium", 2500, 3900), ("large", 10_000, 13_900)];

/// Reads the configuration of Stripe. Returns `None` if no key is set.
/// Errors: the secret that authenticates Stripe's events is missing. Without it, no payment could be booked.
pub(super) fn stripe(lookup: &Lookup<'_>) -> Result<Option<StripeOptions>> {
    let Some(key) = lookup.find(&row::STRIPE_SECRET_KEY)? else { return Ok(None) };
    let Some(secrets) = lookup.find(&row::STRIPE_WEBHOOK_SECRET)? else {
        bail!("stripe_secret_key is set, so stripe_webhook_secret is needed: without it, no payment could be booked");
    };
    let url = lookup.get(&row::STRIPE_URL)?;
    let must_be = "an http or https URL, such as https://api.stripe.com";
    let parsed: Url = url.parse(must_be)?;
    if !matches!(parsed.scheme(), "http" | "https") {
        return Err(url.wrong(must_be).into());
    }
    let webhook_secrets = secrets.text.split(',').map(|one| one.trim().to_owned()).filter(|one| !one.is_empty());
    Ok(Some(StripeOptions { secret_key: key.text, webhook_secrets: webhook_secrets.collect(), url: parsed }))
}

/// Reads the configuration of the mail server. Returns `None` if no mail server is set.
/// Errors: the sender is missing, a value is malformed, or a password would be sent without encryption.
pub(super) fn mail(lookup: &Lookup<'_>) -> Result<Option<MailOptions>> {
    let Some(url) = lookup.find(&row::SMTP_URL)? else { return Ok(None) };
    let Some(from) = lookup.find(&row::MAIL_FROM)? else { bail!("smtp_url is set, so mail_from is needed, too") };
    match MailOptions::parse(&url.text, &from.text) {
        Some(options) => Ok(Some(options)),
        // The message does not contain the values, because the URL may contain a password.
        None => bail!(
            "smtp_url must be smtps://USER:PASSWORD@HOST or smtp://USER:PASSWORD@HOST:587?tls=required (a password needs \
             encryption), and mail_from an e-mail address"
        ),
    }
}

/// Returns the credit packs that the configuration lists. If the configuration lists no packs, returns the default
/// packs if a key of Stripe is set, and `None` otherwise.
pub(super) fn packs(lookup: &Lookup<'_>) -> Result<Option<Vec<Product>>> {
    let listed = lookup.products()?;
    let sells = lookup.find(&row::STRIPE_SECRET_KEY)?.is_some();
    Ok(listed.or_else(|| sells.then(|| PACKS.iter().map(pack).collect())))
}

fn pack(&(id, credits, price_cents): &(&str, u64, u64)) -> Product {
    Product {
        id: id.to_owned(),
        name: format!("{credits} credits"),
        credits,
        price_cents,
        currency: "usd".to_owned(),
        stripe_price_id: String::new(),
    }
}
