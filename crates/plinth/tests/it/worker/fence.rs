//! Tests of the resources that a compromised job can access.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use plinth_fence::FenceOptions;
use plinth_service::Checker;
use plinth_service::models::Upload;
use plinth_spec::state::RenderStatus;
use plinth_worker::WorkerOptions;
use serde_json::json;
use tempfile::TempDir;

use super::deployment::{Deployment, TIMEOUT, tiny};

/// Returns the options of a worker whose jobs are replaced by attacks. The message of the failed render lists the
/// successful attacks. Only the probe of the machine runs normally.
fn hostile(deployment: &Deployment, model: &str) -> WorkerOptions {
    // Cargo builds this example together with the tests of the workspace.
    let program = Path::new(env!("CARGO_BIN_EXE_plinth")).with_file_name("examples/hostile");
    let scratch = deployment.options().scratch;
    let (other, outside) = (scratch.join("models").join(model), deployment.folder.path());
    let database = deployment.database.address().strip_prefix("sqlite://").unwrap();
    deployment.options_with(&format!(
        r#"if grep -q '"probe"' "$3/job.json"; then exec "$@"; fi
        report=$('{}' attack "$3:{}:{database}:{}" ${{5:+"$5"}})
        echo '{{"event":"failed","code":"renderer_crash","message":"'"$report"'"}}'"#,
        program.display(),
        other.display(),
        outside.display(),
    ))
}

async fn attacked(fence: FenceOptions) -> String {
    let deployment = Deployment::new().await;
    // Another render leaves its model in the cache.
    let (model, id) = deployment.upload("stool", Some(tiny())).await;
    assert_eq!(deployment.render_with_worker(&id, deployment.options()).await.status, RenderStatus::Done);
    let id = deployment.upload_and_render("chair", tiny()).await;
    let options = WorkerOptions { fence, ..hostile(&deployment, &model) };
    deployment.render_with_worker(&id, options).await.error_message.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_compromised_job_reaches_neither_database_nor_other_jobs_nor_secrets_nor_network() {
    let report = Box::pin(attacked(FenceOptions::default())).await;
    assert!(report.starts_with("reached: ; refused: open-database "), "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_fence_the_attacks_succeed() {
    let report = Box::pin(attacked(FenceOptions::off())).await;
    let reached = report.strip_prefix("reached: ").and_then(|rest| rest.split(';').next()).unwrap();
    // The message is truncated, so it lists only the first attacks.
    for attack in ["open-database", "read-other-job", "parent-environment"] {
        assert!(reached.split(' ').any(|name| name == attack), "{attack} should succeed without a fence: {report}");
    }
}

/// Uploads a model whose check is replaced by attacks. The message of the rejection lists the successful attacks.
async fn attacked_by_check(fence: FenceOptions) -> String {
    let programs = TempDir::new().unwrap();
    let program = programs.path().join("program");
    let checker = Checker { program: program.clone(), memory_bytes: 1 << 30, time: TIMEOUT, fence };
    let deployment = Deployment::with_checker(checker).await;
    let folder = deployment.folder.path();
    std::fs::create_dir_all(folder.join("own/out")).unwrap();
    std::fs::create_dir_all(folder.join("other")).unwrap();
    for job in ["own", "other"] {
        std::fs::write(folder.join(job).join("model.glb"), "model").unwrap();
    }
    let database = deployment.database.address().strip_prefix("sqlite://").unwrap();
    let (hostile, here) =
        (Path::new(env!("CARGO_BIN_EXE_plinth")).with_file_name("examples/hostile"), folder.display());
    let text = format!(
        r#"#!/bin/bash
        while [ "$1" != --fence ] && [ $# -gt 0 ]; do shift; done
        report=$('{}' single '{here}/own:{here}/other:{database}:{here}' ${{2:+"$2"}})
        echo '{{"Rejected":{{"status":422,"message":"'"$report"'"}}}}'"#,
        hostile.display(),
    );
    std::fs::write(&program, text).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let upload = Upload { file: deployment.file(b"model").await, name: "a.glb".to_owned(), settings: None };
    deployment.service.upload_model(&deployment.caller, upload).await.unwrap_err().message
}

#[tokio::test(flavor = "multi_thread")]
async fn a_compromised_check_reaches_nothing_and_starts_no_processes() {
    let report = attacked_by_check(FenceOptions::default()).await;
    assert!(report.contains("reached: ; refused: open-database ") && report.contains(" start-program"), "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_fence_the_attacks_of_a_check_succeed() {
    let report = attacked_by_check(FenceOptions::off()).await;
    let reached = report.split_once("reached: ").and_then(|(_, rest)| rest.split(';').next()).unwrap();
    for attack in ["open-database", "read-other-job", "parent-environment", "socket-inet", "start-process"] {
        assert!(reached.split(' ').any(|name| name == attack), "{attack} should succeed without a fence: {report}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_modified_model_in_the_cache_is_downloaded_again() {
    let deployment = Deployment::new().await;
    let (model, first) = deployment.upload("chair", Some(tiny())).await;
    assert_eq!(deployment.render_with_worker(&first, deployment.options()).await.status, RenderStatus::Done);
    let kept = deployment.options().scratch.join("models").join(&model).join("model.glb");
    let right = std::fs::read(&kept).unwrap();
    assert_eq!(std::fs::metadata(&kept).unwrap().permissions().mode() & 0o777, 0o444, "jobs cannot write it");
    std::fs::remove_file(&kept).unwrap();
    std::fs::write(&kept, b"another model").unwrap();
    let second = deployment.render_again(&model, json!({"quality": "share", "length": 0.08}), "second").await;
    assert_eq!(deployment.render_with_worker(&second, deployment.options()).await.status, RenderStatus::Done);
    assert_eq!(std::fs::read(&kept).unwrap(), right);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_workspace_has_its_own_shader_cache() {
    let deployment = Deployment::new().await;
    let id = deployment.upload_and_render("chair", tiny()).await;
    assert_eq!(deployment.render_with_worker(&id, deployment.options()).await.status, RenderStatus::Done);
    let homes: Vec<_> = std::fs::read_dir(deployment.options().scratch.join("homes")).unwrap().flatten().collect();
    let names: Vec<_> = homes.iter().map(|home| home.file_name().into_string().unwrap()).collect();
    assert_eq!(names, [deployment.caller.workspace_id.to_string()]);
}
