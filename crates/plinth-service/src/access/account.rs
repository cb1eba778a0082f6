//! Administration of accounts.

use plinth_db::accounts::{self, Account};
use plinth_db::ledger::{self, NewEntry, Posted};
use plinth_db::workspaces::{self, Workspace};
use plinth_db::{Conn, DbError, Tx};
use plinth_spec::funding::{Balance, Pool};
use plinth_spec::id::{AccountId, EntryId, WorkspaceId};
use plinth_spec::wire::LedgerType;
use plinth_spec::{ErrorCode, limits};

use super::Caller;
use crate::admin::Actor;
use crate::billing::count_credits;
use crate::error::{Result, ServiceError};
use crate::ids::New as _;
use crate::service::Service;

/// An account to create.
#[derive(Clone, Debug)]
pub struct NewAccount {
    pub email: String,
    /// Whether the account is an administrator of the installation.
    pub is_admin: bool,
    /// Argon2 hash of the password, if the account has a password.
    pub password_hash: Option<String>,
}

impl Service {
    /// Creates an account with a personal workspace and the signup bonus, for somebody who may run commands on the
    /// server. If the new account is an administrator, adds an entry to the log of administrators.
    /// Errors: the e-mail address is malformed or already in use.
    pub async fn create_account(&self, new: NewAccount) -> Result<AccountId> {
        let email = normalized(&new.email)?;
        let created = self.write_at(move |tx, now| {
            Box::pin(async move {
                let exists = format!("an account with the address {email} exists already");
                if accounts::find_by_email(tx, &email).await?.is_some() {
                    return Err(ServiceError::bad_request(exists));
                }
                let (is_admin, subject) = (new.is_admin, email.clone());
                let made = insert(tx, NewAccount { email, ..new }, limits::SIGNUP_BONUS, now).await;
                let id = made.map_err(|error| error.into_service_error(exists))?;
                if is_admin {
                    Actor::Command.log_new_admin(tx, &id, subject, now).await?;
                }
                Ok(id)
            })
        });
        created.await
    }

    /// Creates the first account of an installation. Returns `None` if an account exists already.
    pub async fn create_first_account(&self, new: NewAccount) -> Result<Option<AccountId>> {
        let email = normalized(&new.email)?;
        let created = self.write_at(move |tx, now| {
            Box::pin(async move {
                if accounts::count(tx).await? > 0 {
                    return Err(InsertError::Exists);
                }
                insert(tx, NewAccount { email, ..new }, limits::SIGNUP_BONUS, now).await
            })
        });
        match created.await {
            Ok(id) => Ok(Some(id)),
            Err(InsertError::Exists) => Ok(None),
            Err(InsertError::Failed(error)) => Err(error),
        }
    }

    /// Finds an account by its e-mail address.
    pub async fn find_account(&self, email: &str) -> Result<Account> {
        find(&mut self.db.read().await?, &normalized(email)?).await
    }

    /// Returns the caller's account in the form of the API. The returned balance is the balance of the account that pays
    /// for the caller's renders.
    pub async fn account(&self, caller: &Caller) -> Result<plinth_spec::wire::Account> {
        let payer = accounts::find(&mut self.db.read().await?, &caller.payer_id).await?;
        let balance = payer.ok_or_else(|| ServiceError::internal("the paying account is missing"))?.balance;
        Ok(plinth_spec::wire::Account {
            id: caller.account_id.clone(),
            email: caller.email.clone(),
            credits: balance.paid,
            paid: balance.paid,
            free: balance.free,
            total: balance.total(),
            scopes: caller.scopes.clone(),
            workspace: caller.bound.clone(),
        })
    }
}

/// The reason why an account was not inserted.
pub(super) enum InsertError {
    /// An account with this address exists already; for the first account, any account. Another transaction may have inserted it since
    /// this transaction searched for it.
    Exists,
    Failed(ServiceError),
}

impl InsertError {
    /// Converts the error for the response. `exists` is the message if the account exists already.
    pub(super) fn into_service_error(self, exists: impl Into<String>) -> ServiceError {
        match self {
            Self::Exists => ServiceError::bad_request(exists),
            Self::Failed(error) => error,
        }
    }
}

impl From<DbError> for InsertError {
    fn from(error: DbError) -> Self {
        if error.is_duplicate() { Self::Exists } else { Self::Failed(error.into()) }
    }
}

impl From<ServiceError> for InsertError {
    fn from(error: ServiceError) -> Self {
        Self::Failed(error)
    }
}

/// Inserts an account with a personal workspace and a signup bonus.
pub(super) async fn insert(
    tx: &mut Tx,
    new: NewAccount,
    bonus: u64,
    now: i64,
) -> std::result::Result<AccountId, InsertError> {
    let account = Account {
        id: AccountId::new_random(),
        email: new.email,
        password_hash: new.password_hash,
        is_admin: new.is_admin,
        suspended_at: None,
        balance: Balance::default(),
        created_at: now,
    };
    accounts::insert(tx, &account).await?;
    let workspace = Workspace {
        id: WorkspaceId::new_random(),
        name: "Personal".to_owned(),
        owner_id: account.id.clone(),
        is_personal: true,
        created_at: now,
        deleted_at: None,
    };
    workspaces::insert(tx, &workspace).await?;
    if bonus > 0 {
        let bonus = bonus.cast_signed();
        let change = (&account.id, Pool::Paid, bonus);
        post_entry(tx, EntryId::new_random(), change, LedgerType::SignupBonus, "Signup bonus", now).await?;
    }
    Ok(account.id)
}

/// Finds an account by its normalized e-mail address.
pub(super) async fn find(conn: &mut Conn, email: &str) -> Result<Account> {
    let account = accounts::find_by_email(conn, email).await?;
    account.ok_or_else(|| ServiceError::new(ErrorCode::NotFound, format!("there is no account {email}")))
}

/// Normalizes an e-mail address to the form in which it is stored and compared.
pub(super) fn normalized(email: &str) -> Result<String> {
    let email = email.trim().to_lowercase();
    let is_address = email.split_once('@').is_some_and(|(name, host)| !name.is_empty() && host.contains('.'));
    let is_plain = email.len() <= limits::EMAIL_BYTES && !email.chars().any(|c| c.is_whitespace() || c.is_control());
    if is_address && is_plain { Ok(email) } else { Err(ServiceError::bad_request("this is not an e-mail address")) }
}

/// Writes a ledger entry that changes a pool of an account by a number of credits.
/// Errors: the pool has too few credits.
pub(crate) async fn post_entry(
    tx: &mut Tx,
    id: EntryId,
    (account, pool, credits): (&AccountId, Pool, i64),
    kind: LedgerType,
    message: &str,
    now: i64,
) -> Result<()> {
    let entry = NewEntry {
        id,
        account_id: account.clone(),
        workspace_id: None,
        render_id: None,
        kind,
        pool,
        credits,
        price_cents: 0,
        source: kind.as_str().to_owned(),
        description: message.to_owned(),
        created_at: now,
    };
    match ledger::post(tx, &entry).await? {
        Posted::Done => {
            count_credits(tx, kind, credits.unsigned_abs());
            Ok(())
        }
        Posted::InsufficientCredits | Posted::Duplicate => {
            Err(ServiceError::new(ErrorCode::NoCredits, "the pool does not have enough credits"))
        }
    }
}
