//! Formats values for display.

use jiff::Timestamp;
use plinth_service::billing::Price;
use plinth_spec::pricing::QuoteLine;
use plinth_spec::role::Role;
use plinth_spec::state::RenderStatus;
use plinth_spec::wire::{LedgerType, Scope};

/// A point in time in two formats: one for the HTML attribute `datetime`, one for display.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DisplayTime {
    pub(crate) machine: String,
    pub(crate) people: String,
}

impl DisplayTime {
    /// Formats a Unix time in milliseconds.
    pub(crate) fn of(ms: i64) -> Self {
        let at = Timestamp::from_millisecond(ms).unwrap_or(Timestamp::MAX);
        let form = |pattern| at.strftime(pattern).to_string();
        Self { machine: form("%Y-%m-%dT%H:%M:%SZ"), people: form("%-d %b %Y, %H:%M UTC") }
    }
}

/// Formats the time of the day of a Unix time in milliseconds.
pub(crate) fn time_of_day(ms: i64) -> String {
    Timestamp::from_millisecond(ms).unwrap_or(Timestamp::MAX).strftime("%H:%M:%S UTC").to_string()
}

/// Formats an age, given in milliseconds, in seconds, minutes, hours or days, depending on its size.
pub(crate) fn age(ms: i64) -> String {
    let secs = ms.max(0) / 1000;
    match secs {
        0..=119 => format!("{secs} s"),
        120..=7199 => format!("{} min", secs / 60),
        7200..=172_799 => format!("{} h", secs / 3600),
        _ => format!("{} days", secs / 86_400),
    }
}

/// Capitalises a message. Adds a full stop if the message ends without punctuation.
pub(crate) fn sentence(message: &str) -> String {
    let mut letters = message.chars();
    let first = letters.next().map(char::to_uppercase).into_iter().flatten();
    let text: String = first.chain(letters).collect();
    if text.ends_with(['.', '!', '?']) { text } else { text + "." }
}

/// Returns a note that free credits would pay for an order, so that its files have a watermark. Returns `None` if they would
/// not.
pub(crate) fn watermark_note(price: &Price) -> Option<String> {
    match price.quote.breakdown.as_slice() {
        _ if price.watermarked == 0 => None,
        [QuoteLine::Video { .. }] => Some("Free credits pay for this, so the video has a watermark.".to_owned()),
        [QuoteLine::Dataset { .. }] => Some("Free credits pay for this, so the images have a watermark.".to_owned()),
        lines => Some(format!(
            "Free credits pay for {} of {} renders, so these have a watermark.",
            price.watermarked,
            lines.len()
        )),
    }
}

/// Formats a file size in decimal units, such as `1.2 MB`.
pub(crate) fn size(bytes: u64) -> String {
    let units = [("TB", 1_000_000_000_000), ("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000)];
    let unit = units.into_iter().find(|(_, unit)| bytes >= *unit);
    unit.map_or_else(|| format!("{bytes} bytes"), |(name, unit)| format!("{:.1} {name}", bytes as f64 / unit as f64))
}

/// Returns the label of a render status.
pub(crate) const fn status(status: RenderStatus) -> &'static str {
    match status {
        RenderStatus::Pending => "Waiting",
        RenderStatus::PosterProcessing => "Drawing",
        RenderStatus::PosterDone => "Interrupted, waiting",
        RenderStatus::VideoProcessing => "Making the video",
        RenderStatus::Done => "Done",
        RenderStatus::Error => "Failed",
        RenderStatus::Failed => "Ended",
    }
}

/// Returns the label of a type of ledger entry.
pub(crate) const fn ledger_type(kind: LedgerType) -> &'static str {
    match kind {
        LedgerType::Purchase => "Purchase",
        LedgerType::Unlock => "Unlocked preview",
        LedgerType::Render => "Render",
        LedgerType::Refund => "Refund",
        LedgerType::Promo => "Promotion",
        LedgerType::Referral => "Referral",
        LedgerType::AdminGrant => "Grant",
        LedgerType::SignupBonus => "Signup bonus",
    }
}

/// Currencies without a smaller unit. The next list contains currencies with a smallest unit of a thousandth.
// Source: Stripe's documentation, "Zero-decimal currencies" and "Three-decimal currencies".
const WITHOUT_PARTS: [&str; 16] =
    ["bif", "clp", "djf", "gnf", "jpy", "kmf", "krw", "mga", "pyg", "rwf", "ugx", "vnd", "vuv", "xaf", "xof", "xpf"];
const WITH_THOUSANDTHS: [&str; 5] = ["bhd", "jod", "kwd", "omr", "tnd"];

/// Formats an amount in the smallest unit of its currency, such as `9.00 USD`.
pub(crate) fn money(amount: u64, currency: &str) -> String {
    let name = currency.to_uppercase();
    if WITHOUT_PARTS.contains(&currency) {
        format!("{amount} {name}")
    } else if WITH_THOUSANDTHS.contains(&currency) {
        format!("{}.{:03} {name}", amount / 1000, amount % 1000)
    } else {
        format!("{}.{:02} {name}", amount / 100, amount % 100)
    }
}

/// Returns the label of a role.
pub(crate) const fn role_name(role: Role) -> &'static str {
    match role {
        Role::Owner => "Owner",
        Role::Admin => "Administrator",
        Role::Editor => "Editor",
        Role::Viewer => "Viewer",
    }
}

/// Returns a role with its article, for use within a sentence.
pub(crate) const fn role_article(role: Role) -> &'static str {
    match role {
        Role::Owner => "the owner",
        Role::Admin => "an administrator",
        Role::Editor => "an editor",
        Role::Viewer => "a viewer",
    }
}

/// Returns a short name of a browser and its system, from the header `User-Agent`. A browser's header also contains the
/// names of other browsers, so the order of the list matters.
pub(crate) fn browser_name(user_agent: &str) -> String {
    let find = |names: &[(&str, &'static str)]| {
        names.iter().find(|(mark, _name)| user_agent.contains(mark)).map(|(_mark, name)| *name)
    };
    let browser = find(&[
        ("Edg", "Edge"),
        ("OPR/", "Opera"),
        ("Firefox/", "Firefox"),
        ("FxiOS/", "Firefox"),
        ("Chrome/", "Chrome"),
        ("CriOS/", "Chrome"),
        ("Safari/", "Safari"),
    ]);
    let system = find(&[
        ("Android", "Android"),
        ("iPhone", "iPhone"),
        ("iPad", "iPad"),
        ("Windows", "Windows"),
        ("Mac OS X", "macOS"),
        ("CrOS", "ChromeOS"),
        ("Linux", "Linux"),
    ]);
    match (browser, system) {
        (Some(browser), Some(system)) => format!("{browser} on {system}"),
        (Some(one), None) | (None, Some(one)) => one.to_owned(),
        (None, None) => "An unknown browser".to_owned(),
    }
}

/// Joins the names of scopes with commas.
pub(crate) fn scopes(scopes: &[Scope]) -> String {
    scopes.iter().map(|scope| scope.as_str()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use plinth_spec::pricing::Quote;

    use super::*;

    #[test]
    fn the_note_names_what_gets_a_watermark() {
        let video = || QuoteLine::Video { quality: "share", length: 2.0, credits: 2 };
        let dataset = || QuoteLine::Dataset { dataset_quality: "100x800", credits: 40 };
        let note = |watermarked, breakdown| {
            let quote = Quote { credits_required: 4, credits_available: 9, sufficient: true, breakdown };
            watermark_note(&Price { quote, watermarked }).unwrap_or_default()
        };
        assert_eq!(note(0, vec![video()]), "");
        assert_eq!(note(1, vec![video()]), "Free credits pay for this, so the video has a watermark.");
        assert_eq!(note(1, vec![dataset()]), "Free credits pay for this, so the images have a watermark.");
        let several = note(1, vec![video(), video()]);
        assert_eq!(several, "Free credits pay for 1 of 2 renders, so these have a watermark.");
    }

    #[test]
    fn values_are_formatted_for_display() {
        let moment = DisplayTime::of(1_800_000_000_000);
        assert_eq!(
            (moment.machine.as_str(), moment.people.as_str()),
            ("2027-01-15T08:00:00Z", "15 Jan 2027, 08:00 UTC")
        );
        let amounts = [money(905, "usd"), money(905, "jpy"), money(12_345, "kwd")];
        assert_eq!(amounts, ["9.05 USD", "905 JPY", "12.345 KWD"]);
        let chrome =
            "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36";
        assert_eq!(browser_name(chrome), "Chrome on Linux");
        assert_eq!(browser_name(&format!("{chrome} Edg/140.0")), "Edge on Linux");
        assert_eq!(browser_name("<script>"), "An unknown browser");
        let ages = [-5, 119_999, 120_000, 7_199_000, 172_799_000, 172_800_000].map(age);
        assert_eq!(ages, ["0 s", "119 s", "2 min", "119 min", "47 h", "2 days"]);
        assert_eq!(time_of_day(1_800_000_000_000), "08:00:00 UTC");
        assert_eq!((size(999), size(1_250_000)), ("999 bytes".to_owned(), "1.2 MB".to_owned()));
        assert_eq!((sentence("état"), sentence("Why?"), sentence("")), ("État.".into(), "Why?".into(), ".".into()));
    }
}
