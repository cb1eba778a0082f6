//! The statement of an account: its ledger as CSV, in pieces, so that a long ledger does not need more memory.

use plinth_db::ledger;
use plinth_db::purchases::{self, Purchase};
use plinth_spec::id::EntryId;
use plinth_spec::wire::LedgerEntry;

use crate::access::Caller;
use crate::error::{Result, ServiceError};
use crate::service::Service;

const PIECE_ENTRIES: u32 = 500;
/// Number of purchases that the web UI lists.
const PURCHASES: u32 = 50;
/// The first line of a statement.
pub const STATEMENT_HEAD: &str = "time,type,credits,price,source,description,render,entry\r\n";

/// Place in a statement: the entry after which the next piece begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatementPosition {
    created_at: i64,
    id: EntryId,
}

impl Service {
    /// Lists the newest purchases of the account that pays for the renders of the caller's workspace. In a team
    /// workspace, lists only the purchases for this team.
    pub async fn list_purchases(&self, caller: &Caller) -> Result<Vec<Purchase>> {
        let workspace = caller.bound.as_ref().map(|bound| &bound.id);
        Ok(purchases::list(&mut self.db.read().await?, &caller.payer_id, workspace, PURCHASES).await?)
    }

    /// Returns a piece of the statement without its first line, newest entries first, and the position of the next
    /// piece. The position is `None` if this piece is the last. Prices are in the smallest unit of their currency.
    pub async fn statement(
        &self,
        caller: &Caller,
        after: Option<&StatementPosition>,
    ) -> Result<(String, Option<StatementPosition>)> {
        let workspace = caller.bound.as_ref().map(|bound| &bound.id);
        let before = after.map(|position| (position.created_at, &position.id));
        let mut conn = self.db.read().await?;
        let entries = ledger::list_before(&mut conn, &caller.payer_id, workspace, before, PIECE_ENTRIES).await?;
        let last = entries.last().filter(|_last| entries.len() == PIECE_ENTRIES as usize);
        let next = last.map(|entry| StatementPosition { created_at: entry.created_at.0, id: entry.id.clone() });
        Ok((csv_of(&entries)?, next))
    }
}

fn csv_of(entries: &[LedgerEntry]) -> Result<String> {
    let mut writer = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(Vec::new());
    for entry in entries {
        let time = serde_json::to_value(entry.created_at).map_err(ServiceError::internal)?;
        let row = [
            time.as_str().unwrap_or_default(),
            entry.kind.as_str(),
            &entry.credits.to_string(),
            &entry.price_cents.to_string(),
            &as_text(&entry.source),
            &as_text(&entry.description),
            entry.render_id.as_ref().map_or("", |id| id.as_str()),
            entry.id.as_str(),
        ];
        writer.write_record(row).map_err(ServiceError::internal)?;
    }
    let bytes = writer.into_inner().map_err(|error| ServiceError::internal(error.to_string()))?;
    String::from_utf8(bytes).map_err(ServiceError::internal)
}

/// Prepends an apostrophe to a text that begins like a formula, so that spreadsheets do not evaluate the text.
fn as_text(text: &str) -> String {
    if text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠']) {
        format!("'{text}")
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use plinth_spec::wire::{LedgerType, Timestamp};

    use super::*;

    #[test]
    fn texts_are_quoted_and_are_no_formulas() {
        let entry = |description: &str| LedgerEntry {
            id: EntryId::parse("k3Jd92LmQx7a").unwrap(),
            created_at: Timestamp(1_800_000_000_000),
            kind: LedgerType::Purchase,
            credits: -24,
            price_cents: 900,
            source: "stripe".to_owned(),
            description: description.to_owned(),
            render_id: None,
        };
        for (text, written) in [
            ("500 credits", "500 credits"),
            ("=HYPERLINK(\"x\")", "\"'=HYPERLINK(\"\"x\"\")\""),
            ("@SUM(1,2)", "\"'@SUM(1,2)\""),
            ("-1+1", "'-1+1"),
            ("\t=1", "'\t=1"),
            ("a\r\n=1", "\"a\r\n=1\""),
        ] {
            let expected = format!("2027-01-15T08:00:00.000Z,purchase,-24,900,stripe,{written},,k3Jd92LmQx7a\r\n");
            assert_eq!(csv_of(&[entry(text)]).unwrap(), expected);
        }
    }
}
