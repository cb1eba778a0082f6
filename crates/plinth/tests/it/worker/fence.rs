//! What a job reaches that was taken over, and what it leaves for others.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use plinth_fence::FenceOptions;
use plinth_spec::state::RenderStatus;
use plinth_worker::WorkerOptions;
use serde_json::json;

use super::house::{House, tiny};

/// A worker whose jobs are hostile; what they reached is the message of the failed render. Only finding out what the
/// machine renders with goes as it should.
fn hostile(house: &House, model: &str) -> WorkerOptions {
    // Cargo builds it with the tests of the workspace.
    let program = Path::new(env!("CARGO_BIN_EXE_plinth")).with_file_name("examples/hostile");
    let scratch = house.options().scratch;
    let (other, outside) = (scratch.join("models").join(model), house.folder.path());
    let database = house.database.address().strip_prefix("sqlite://").unwrap();
    house.options_with(&format!(
        r#"if grep -q '"probe"' "$3/job.json"; then exec "$@"; fi
        said=$('{}' attack "$3:{}:{database}:{}" ${{5:+"$5"}})
        echo '{{"event":"failed","code":"renderer_crash","message":"'"$said"'"}}'"#,
        program.display(),
        other.display(),
        outside.display(),
    ))
}

async fn attacked(fence: FenceOptions) -> String {
    let house = House::new().await;
    // A model of another render, which is kept.
    let (model, id) = house.upload("stool", Some(tiny())).await;
    assert_eq!(house.outcome(&id, house.options()).await.status, RenderStatus::Done);
    let id = house.order("chair", tiny()).await;
    let options = WorkerOptions { fence, ..hostile(&house, &model) };
    house.outcome(&id, options).await.error_message.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_is_taken_over_reaches_neither_database_nor_other_jobs_nor_secrets_nor_network() {
    let said = attacked(FenceOptions::default()).await;
    assert!(said.starts_with("reached: ; refused: open-database "), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_fence_it_reaches_them() {
    let said = attacked(FenceOptions::off()).await;
    let reached = said.strip_prefix("reached: ").and_then(|rest| rest.split(';').next()).unwrap();
    // A message has room for the first of them.
    for attack in ["open-database", "read-other-job", "parent-environment"] {
        assert!(reached.split(' ').any(|name| name == attack), "{attack} proves nothing: {said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kept_model_that_was_changed_is_fetched_anew() {
    let house = House::new().await;
    let (model, first) = house.upload("chair", Some(tiny())).await;
    assert_eq!(house.outcome(&first, house.options()).await.status, RenderStatus::Done);
    let kept = house.options().scratch.join("models").join(&model).join("model.glb");
    let right = std::fs::read(&kept).unwrap();
    assert_eq!(std::fs::metadata(&kept).unwrap().permissions().mode() & 0o777, 0o444, "jobs only read it");
    std::fs::remove_file(&kept).unwrap();
    std::fs::write(&kept, b"another model").unwrap();
    let second = house.order_again(&model, json!({"quality": "share", "length": 0.08}), "second").await;
    assert_eq!(house.outcome(&second, house.options()).await.status, RenderStatus::Done);
    assert_eq!(std::fs::read(&kept).unwrap(), right);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_workspace_has_compiled_shaders_of_its_own() {
    let house = House::new().await;
    let id = house.order("chair", tiny()).await;
    assert_eq!(house.outcome(&id, house.options()).await.status, RenderStatus::Done);
    let homes: Vec<_> = std::fs::read_dir(house.options().scratch.join("homes")).unwrap().flatten().collect();
    let names: Vec<_> = homes.iter().map(|home| home.file_name().into_string().unwrap()).collect();
    assert_eq!(names, [house.caller.workspace_id.to_string()]);
}
