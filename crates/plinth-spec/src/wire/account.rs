//! JSON bodies of the account, of credits and of prices.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::timestamp::Timestamp;
use crate::id::{AccountId, EntryId, RenderId, WorkspaceId};
use crate::named::named;

named! {
    /// Permission of a token.
    Scope {
        /// Read access.
        Read = "read",
        /// Write access, including uploads and renders.
        Render = "render",
    }
}

/// Account to which the caller's token belongs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct Account {
    /// ID.
    pub id: AccountId,
    /// E-mail address.
    pub email: String,
    /// Balance that can be spent. It always equals `paid`.
    pub credits: u64,
    /// Credits of the paid pool.
    pub paid: u64,
    /// Credits of the legacy free pool.
    pub free: u64,
    /// Sum of paid and free credits.
    pub total: u64,
    /// Permissions of the caller's token.
    pub scopes: Vec<Scope>,
    /// Workspace to which the token is bound; null for a personal token. If the token is bound to a workspace, the
    /// balances belong to the owner of the workspace.
    #[schema(required)]
    pub workspace: Option<BoundWorkspace>,
}

/// The workspace to which a token is bound.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct BoundWorkspace {
    /// ID.
    pub id: WorkspaceId,
    /// Name.
    pub name: String,
}

/// Body of a request for a quote. Each item contains the render settings that affect the price: `quality`, `output`,
/// `datasetQuality` and `length`.
#[derive(Clone, Debug, Deserialize, utoipa::ToSchema)]
pub struct QuoteRequest {
    /// Renders to price: 1 to 100.
    #[schema(required, value_type = Vec<super::RenderSettings>, min_items = 1, max_items = 100)]
    pub renders: Option<Vec<Value>>,
}

/// A credit pack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Product {
    /// ID.
    pub id: String,
    /// Name.
    pub name: String,
    /// Credits in the pack.
    pub credits: u64,
    /// Price in the smallest unit of the currency, such as cents.
    pub price_cents: u64,
    /// Currency of the price: a lower-case code of ISO 4217.
    #[schema(examples("usd"))]
    pub currency: String,
    /// Price ID at the payment provider; empty if the pack has no such ID.
    pub stripe_price_id: String,
}

named! {
    /// The reason of a ledger entry.
    LedgerType {
        /// A credit pack was bought.
        Purchase = "purchase",
        /// A preview was unlocked (legacy).
        Unlock = "unlock",
        /// A render was charged.
        Render = "render",
        /// A charge was refunded.
        Refund = "refund",
        /// Credits were given in a promotion.
        Promo = "promo",
        /// Credits were given for a referral.
        Referral = "referral",
        /// An administrator granted credits.
        AdminGrant = "admin_grant",
        /// A new account received its bonus.
        SignupBonus = "signup_bonus",
    }
}

/// A ledger entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LedgerEntry {
    /// ID.
    pub id: EntryId,
    /// Time of the entry.
    pub created_at: Timestamp,
    /// Reason.
    #[serde(rename = "type")]
    pub kind: LedgerType,
    /// Change of the balance: positive for credits added, negative for credits spent.
    pub credits: i64,
    /// Amount paid for the credits, in cents.
    pub price_cents: i64,
    /// Source of the credits.
    pub source: String,
    /// Human-readable description.
    pub description: String,
    /// Render that was charged or refunded; null for other entries.
    #[schema(required)]
    pub render_id: Option<RenderId>,
}
