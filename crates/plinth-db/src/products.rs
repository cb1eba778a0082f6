//! Credit packs on sale.

use plinth_spec::wire::Product;

use crate::sql::params;
use crate::table::{insert, row};
use crate::{Conn, Result, Tx};

row!(columns, product -> Product {
    id: "id",
    name: "name",
    credits: "credits",
    price_cents: "price_cents",
    currency: "currency",
    stripe_price_id: "price_reference"
});

/// Inserts a credit pack, or updates the existing credit pack with the same identifier.
pub async fn upsert(tx: &mut Tx, product: &Product) -> Result<()> {
    let p = product;
    insert!(
        tx,
        "products",
        id: p.id.as_str(),
        name: p.name.as_str(),
        credits: p.credits.cast_signed(),
        price_cents: p.price_cents.cast_signed(),
        currency: p.currency.as_str(),
        price_reference: p.stripe_price_id.as_str();
        "ON CONFLICT (id) DO UPDATE SET name = excluded.name, credits = excluded.credits, \
         price_cents = excluded.price_cents, currency = excluded.currency, price_reference = excluded.price_reference"
    )
}

/// Deletes all credit packs.
pub async fn delete_all(tx: &mut Tx) -> Result<()> {
    tx.execute("DELETE FROM products", params![]).await.map(drop)
}

/// Finds a credit pack.
pub async fn find(conn: &mut Conn, id: &str) -> Result<Option<Product>> {
    let sql = concat!("SELECT ", columns!(), " FROM products WHERE id = $1");
    conn.fetch_optional(sql, params![id]).await?.as_ref().map(product).transpose()
}

/// Lists all credit packs in ascending order of their credits.
pub async fn list(conn: &mut Conn) -> Result<Vec<Product>> {
    let sql = concat!("SELECT ", columns!(), " FROM products ORDER BY credits, id");
    conn.fetch_all(sql, params![]).await?.iter().map(product).collect()
}
