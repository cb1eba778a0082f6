//! The configuration file `plinth.toml`.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use plinth_spec::wire::Product;
use toml::{Table, Value};

use super::table::{FILE, TABLE};

/// Key of the list of credit packs.
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

    /// Returns the credit packs; `None` if the file does not list any.
    /// Errors: a credit pack is incomplete.
    pub(super) fn products(&self) -> Result<Option<Vec<Product>>> {
        let Some(value) = self.values.get(PRODUCTS) else { return Ok(None) };
        let list = value.as_array().map(|packs| packs.iter().map(product).collect::<Option<Vec<_>>>());
        match list.flatten() {
            Some(products) => Ok(Some(products)),
            None => bail!(
                "{}: each of [[products]] needs id and name as text, credits and price_cents as whole numbers above 0; \
                 it may have currency, a code such as usd, and price_reference, a price of Stripe",
                self.name()
            ),
        }
    }
}

fn product(value: &Value) -> Option<Product> {
    let text = |key: &str| value.get(key)?.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    let number = |key: &str| u64::try_from(value.get(key)?.as_integer()?).ok();
    Some(Product {
        id: text("id")?,
        name: text("name")?,
        credits: number("credits").filter(|n| *n > 0)?,
        price_cents: number("price_cents").filter(|n| *n > 0)?,
        currency: match value.get("currency") {
            Some(code) => {
                code.as_str().filter(|c| c.len() == 3 && c.bytes().all(|b| b.is_ascii_alphabetic()))?.to_lowercase()
            }
            None => "usd".to_owned(),
        },
        stripe_price_id: match value.get("price_reference") {
            Some(price) => price.as_str()?.to_owned(),
            None => String::new(),
        },
    })
}

/// Returns the end of an error message that suggests the most similar known key. Returns an empty string if no key is
/// similar.
fn nearest(key: &str) -> String {
    let likeness = |known: &&str| strsim::jaro_winkler(known, key);
    let best = TABLE.iter().map(|row| row.key).max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    best.filter(|known| likeness(known) > 0.8).map_or_else(String::new, |known| format!("; did you mean '{known}'?"))
}
