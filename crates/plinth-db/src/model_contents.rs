//! Contents of models other than meshes, materials and animations.

use plinth_spec::id::ModelId;

use crate::sql::params;
use crate::{Conn, Result, Tx};

/// Inserts the contents of a model, given as JSON.
pub async fn insert(tx: &mut Tx, model: &ModelId, contents: &str) -> Result<()> {
    let sql = "INSERT INTO model_contents (model_id, contents) VALUES ($1, $2)";
    tx.execute(sql, params![model, contents]).await.map(drop)
}

/// Returns the contents of a model. `None` if the model was uploaded before contents were stored.
pub async fn find(conn: &mut Conn, model: &ModelId) -> Result<Option<String>> {
    let row = conn.fetch_optional("SELECT contents FROM model_contents WHERE model_id = $1", params![model]).await?;
    row.map(|row| row.text("contents")).transpose()
}
