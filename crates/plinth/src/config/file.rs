//! The configuration file `plinth.toml`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use iso_currency::Currency;
use plinth_spec::wire::Product;
use serde::Deserialize;
use toml::{Table, Value};

use super::table::{FILE, TABLE};

/// Key of the list of credit packs in the file.
const PRODUCTS: &str = "products";

/// A parsed configuration file.
#[derive(Debug)]
pub(super) struct ConfigFile {
    path: PathBuf,
    values: Table,
}

impl ConfigFile {
    /// Reads the file `named`. Without a name, reads `plinth.toml` in the current folder if it exists.
    /// Errors: the file `named` does not exist, the file is not valid TOML, or it has an unknown key.
    pub(super) fn read(named: Option<PathBuf>) -> Result<Option<Self>> {
        let path = match named {
            Some(path) => path,
            None if Path::new(FILE).exists() => PathBuf::from(FILE),
            None => return Ok(None),
        };
        let text = std::fs::read_to_string(&path).with_context(|| format!("{} cannot be read", path.display()))?;
        let values: Table = text.parse().with_context(|| format!("{} is not valid TOML", path.display()))?;
        for key in values.keys() {
            if key != PRODUCTS && !TABLE.iter().any(|row| row.key == key) {
                bail!("{} has the unknown key '{key}'{}", path.display(), nearest(key));
            }
        }
        Ok(Some(Self { path, values }))
    }

    /// Returns the path of the file, for messages.
    pub(super) fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// Returns the folder to which relative paths in the file refer.
    pub(super) fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new(""))
    }

    /// Returns a value as text. The elements of a list are joined with commas.
    /// Errors: the value is not a string, number, boolean or list of strings.
    pub(super) fn text(&self, key: &str) -> Result<Option<String>> {
        let Some(value) = self.values.get(key) else { return Ok(None) };
        let text = match value {
            Value::String(text) => Some(text.clone()),
            Value::Integer(number) => Some(number.to_string()),
            Value::Boolean(truth) => Some(truth.to_string()),
            Value::Array(list) => list.iter().map(Value::as_str).collect::<Option<Vec<_>>>().map(|l| l.join(",")),
            Value::Float(_) | Value::Datetime(_) | Value::Table(_) => None,
        };
        match text {
            Some(text) => Ok(Some(text)),
            None => bail!("{}: '{key}' must be a string, an integer, true, false, or a list of strings", self.name()),
        }
    }

    /// Returns the credit packs; `None` if the file lists no packs.
    /// Errors: a credit pack is incomplete, has an unknown key or an invalid value, or two credit packs have the same
    /// id.
    pub(super) fn products(&self) -> Result<Option<Vec<Product>>> {
        let Some(value) = self.values.get(PRODUCTS) else { return Ok(None) };
        products(value).map(Some).with_context(|| {
            format!(
                "{}: each of [[products]] needs id and name as text, credits and price_cents as whole numbers above 0; \
                 it may have currency, a code such as usd, and price_reference, a price of Stripe",
                self.name()
            )
        })
    }
}

/// A credit pack, as it is written in the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Pack {
    id: String,
    name: String,
    credits: u64,
    price_cents: u64,
    #[serde(default = "usd")]
    currency: String,
    #[serde(default)]
    price_reference: String,
}

fn usd() -> String {
    "usd".to_owned()
}

fn products(value: &Value) -> Result<Vec<Product>> {
    let packs = Vec::<Pack>::deserialize(value.clone())?;
    let mut known = BTreeSet::new();
    for pack in &packs {
        let Pack { id, name, currency, .. } = pack;
        ensure!(!id.is_empty() && !name.is_empty(), "an id or a name is empty");
        ensure!(pack.credits > 0 && pack.price_cents > 0, "the pack '{id}' has no credits or no price");
        ensure!(Currency::from_code(&currency.to_uppercase()).is_some(), "'{currency}' is not a currency of ISO 4217");
        ensure!(known.insert(id), "two packs have the id '{id}'");
    }
    Ok(packs.into_iter().map(product).collect())
}

fn product(pack: Pack) -> Product {
    Product {
        id: pack.id,
        name: pack.name,
        credits: pack.credits,
        price_cents: pack.price_cents,
        currency: pack.currency.to_lowercase(),
        stripe_price_id: pack.price_reference,
    }
}

/// Returns a suggestion for the end of an error message: the known key that is most similar to `key`. Empty if no known
/// key is similar.
fn nearest(key: &str) -> String {
    let likeness = |known: &&str| strsim::jaro_winkler(known, key);
    let best = TABLE.iter().map(|row| row.key).max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    best.filter(|known| likeness(known) > 0.8).map_or_else(String::new, |known| format!("; did you mean '{known}'?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<Product>> {
        let values: Table = text.parse().unwrap();
        products(&values[PRODUCTS])
    }

    #[test]
    fn credit_packs_with_mistakes_are_rejected_and_the_message_names_the_mistake() {
        let pack = "[[products]]\nid = \"small\"\nname = \"Small\"\ncredits = 500\nprice_cents = 900\n";
        let currency = |code: &str| format!("{pack}currency = \"{code}\"\n");
        for code in ["eur", "EUR", "jpy"] {
            assert_eq!(read(&currency(code)).unwrap()[0].currency, code.to_lowercase());
        }
        assert_eq!(read(pack).unwrap()[0].currency, "usd");
        for (text, problem) in [
            (format!("{pack}currancy = \"eur\"\n"), "unknown field `currancy`"),
            (currency("zzz"), "'zzz' is not a currency"),
            (currency("eu"), "'eu' is not a currency"),
            (pack.repeat(2), "two packs have the id 'small'"),
            (pack.replace("500", "0"), "the pack 'small' has no credits"),
            (pack.replace("900", "-1"), "-1"),
            (pack.replace("name = \"Small\"\n", ""), "missing field `name`"),
            (pack.replace("[[products]]\n", "[products]\n"), "expected a sequence"),
        ] {
            let error = read(&text).unwrap_err().to_string();
            assert!(error.contains(problem), "{text}: {error}");
        }
    }
}
