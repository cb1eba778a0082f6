//! Credits that an administrator grants.

use plinth_db::accounts;
use plinth_db::ledger::{self, BalanceChange};
use plinth_spec::AdminAction;
use plinth_spec::funding::{Balance, Pool};
use plinth_spec::id::{AccountId, EntryId};
use plinth_spec::limits;
use plinth_spec::wire::LedgerType;

use super::accounts::find;
use super::actor::{Actor, Done, reason};
use crate::access::post_entry;
use crate::error::{Result, ServiceError};
use crate::ids::New as _;
use crate::service::Service;

/// Credits that an administrator grants.
#[derive(Clone, Debug)]
pub struct Grant {
    /// Identifier of the ledger entry. A second, equal grant with the same identifier changes nothing, so that a form can be sent twice.
    pub entry: EntryId,
    /// Pool to which the credits are added.
    pub pool: Pool,
    /// Number of credits; negative to remove them.
    pub credits: i64,
    /// Reason, which the log shows; may be empty.
    pub reason: String,
}

impl Grant {
    /// Creates a grant of paid credits.
    pub fn paid(credits: i64) -> Self {
        Self { entry: Self::new_entry(), pool: Pool::Paid, credits, reason: String::new() }
    }

    /// Generates the identifier of a grant.
    pub fn new_entry() -> EntryId {
        EntryId::new_random()
    }
}

impl Service {
    /// Adds credits to a pool of an account, or removes them.
    /// Errors: the account is unknown, the number is 0 or too large, the pool has too few credits, or another grant has the same
    /// identifier.
    pub async fn grant_credits(&self, actor: &Actor, account: &AccountId, grant: Grant) -> Result<Balance> {
        let (actor, id, why) = (actor.clone(), account.clone(), reason(&grant.reason)?);
        if grant.credits == 0 || grant.credits.unsigned_abs() > limits::GRANT_CREDITS {
            let message = format!(
                "the number of credits must be from 1 to {}, or negative to remove credits",
                limits::GRANT_CREDITS
            );
            return Err(ServiceError::bad_request(message));
        }
        let granted = self.write_locked(id.clone(), move |tx, now| {
            Box::pin(async move {
                actor.check(tx, now).await?;
                let account = find(tx, &id).await?;
                let Grant { entry, pool, credits, .. } = grant;
                if let Some(booked) = ledger::find_change(tx, &entry).await? {
                    let is_same = booked == BalanceChange { account_id: id, pool, credits };
                    return if is_same { Ok(account.balance) } else { Err(sent_before()) };
                }
                post_entry(tx, entry, (&id, pool, credits), LedgerType::AdminGrant, "Granted by an administrator", now)
                    .await?;
                let subject = format!("{}: {credits:+} {} credits", account.email, pool.as_str());
                let done = Done { action: AdminAction::GrantCredits, account: Some(&id), subject, reason: &why };
                actor.log(tx, done, now).await?;
                let changed = accounts::find(tx, &id).await?;
                Ok(changed.map_or(account.balance, |account| account.balance))
            })
        });
        granted.await
    }
}

fn sent_before() -> ServiceError {
    let message = "this form was sent before with other values; reload the page and send the form again";
    ServiceError::bad_request(message)
}
