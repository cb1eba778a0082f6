//! Credit packs on sale.

use plinth_spec::wire::Product;

use crate::sql::params;
use crate::{Conn, Result, Tx};

/// Inserts a credit pack, or updates the one with the same identifier.
pub async fn upsert(tx: &mut Tx, product: &Product) -> Result<()> {
    let p = product;
    let sql = "INSERT INTO products (id, name, credits, price_cents, price_reference) VALUES ($1, $2, $3, $4, $5) \
               ON CONFLICT (id) DO UPDATE SET name = excluded.name, credits = excluded.credits, \
               price_cents = excluded.price_cents, price_reference = excluded.price_reference";
    let (credits, price) = (p.credits.cast_signed(), p.price_cents.cast_signed());
    tx.execute(sql, params![p.id.as_str(), p.name.as_str(), credits, price, p.stripe_price_id.as_str()]).await.map(drop)
}

/// Deletes all credit packs.
pub async fn delete_all(tx: &mut Tx) -> Result<()> {
    tx.execute("DELETE FROM products", params![]).await.map(drop)
}

/// Lists all credit packs, those with the fewest credits first.
pub async fn list(conn: &mut Conn) -> Result<Vec<Product>> {
    let sql = "SELECT id, name, credits, price_cents, price_reference FROM products ORDER BY credits, id";
    let rows = conn.fetch_all(sql, params![]).await?;
    rows.iter()
        .map(|row| {
            Ok(Product {
                id: row.text("id")?,
                name: row.text("name")?,
                credits: row.count("credits")?,
                price_cents: row.count("price_cents")?,
                stripe_price_id: row.text("price_reference")?,
            })
        })
        .collect()
}
