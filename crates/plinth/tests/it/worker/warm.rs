//! Tests of job processes that stay alive for the next render of the same model.

use std::time::Duration;

use plinth_spec::FailureCode;
use plinth_spec::state::RenderStatus;
use plinth_worker::WorkerOptions;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use super::deployment::{Deployment, TIMEOUT, tiny};
use crate::processes_in;

/// Returns the options of a worker that counts the processes that stay alive after a render. Each of them first runs
/// `lines`.
fn counting(deployment: &Deployment, lines: &str) -> WorkerOptions {
    let count = deployment.folder.path().join("starts");
    deployment.options_with(&format!(
        r#"if grep -q '"stays":true' "$3/job.json"; then echo start >> '{}'; {lines} fi; exec "$@""#,
        count.display(),
    ))
}

fn starts(deployment: &Deployment) -> usize {
    std::fs::read_to_string(deployment.folder.path().join("starts")).unwrap_or_default().lines().count()
}

fn turned(degrees: u32) -> Value {
    json!({"quality": "share", "length": 0.04, "rotateY": degrees})
}

async fn assert_done(deployment: &Deployment, ids: &[String]) {
    for id in ids {
        let render = deployment.wait_until_ended(id).await;
        assert_eq!(render.status, RenderStatus::Done, "{render:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn renders_of_one_model_are_drawn_by_one_process_and_those_of_another_by_another() {
    let deployment = Deployment::new().await;
    let (chair, first) = deployment.upload("chair", Some(turned(0))).await;
    let mut ids = vec![first];
    for degrees in [40, 80] {
        ids.push(deployment.render_again(&chair, turned(degrees), &degrees.to_string()).await);
    }
    let worker = deployment.start_worker(counting(&deployment, ""));
    assert_done(&deployment, &ids).await;
    assert_eq!(starts(&deployment), 1);
    let posters = [deployment.poster(&ids[0]).await, deployment.poster(&ids[1]).await];
    assert!(posters[0] != posters[1], "each render has its own settings");
    let preview = deployment.upload("lamp", None).await.1;
    assert_done(&deployment, &[preview]).await;
    assert_eq!(starts(&deployment), 1, "a free preview has a process that does not stay");
    let stool = deployment.upload_and_render("stool", tiny()).await;
    assert_done(&deployment, &[stool]).await;
    assert_eq!(starts(&deployment), 2);
    worker.stop().await;
    assert!(processes_in(deployment.folder.path()).is_empty(), "no process outlives its worker");
    assert_eq!(deployment.credits().await, 96);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_render_whose_warm_process_fails_is_drawn_by_a_new_one() {
    let deployment = Deployment::new().await;
    let (chair, first) = deployment.upload("chair", Some(turned(0))).await;
    let second = deployment.render_again(&chair, turned(90), "second").await;
    // The process dies when it receives its second render.
    let dies = r#"tail --pid=$$ -f /dev/null | "$@" & read -r line; exit 3;"#;
    let worker = deployment.start_worker(counting(&deployment, dies));
    assert_done(&deployment, &[first, second]).await;
    assert_eq!(starts(&deployment), 2);
    worker.stop().await;
    assert_eq!(deployment.credits().await, 98);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_does_not_read_its_next_render_is_ended_at_the_time_limit() {
    let deployment = Deployment::new().await;
    let (chair, first) = deployment.upload("chair", Some(turned(0))).await;
    // These settings do not fit into the buffer of a pipe that nobody reads.
    let names: Vec<String> = (0..512).map(|n| format!("{n:0>256}")).collect();
    let large = json!({"quality": "share", "length": 0.04, "hiddenMeshNames": names});
    let second = deployment.render_again(&chair, large, "second").await;
    let deaf = r#"tail --pid=$$ -f /dev/null | "$@" & sleep 600;"#;
    let options = WorkerOptions { timeout: Duration::from_secs(15), ..counting(&deployment, deaf) };
    let worker = deployment.start_worker(options);
    assert_done(&deployment, &[first]).await;
    let render = deployment.wait_until_ended(&second).await;
    assert_eq!(render.failure_code, Some(FailureCode::Timeout), "{render:?}");
    assert_eq!(starts(&deployment), 1);
    worker.stop().await;
    assert_eq!(deployment.credits().await, 99);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_sends_events_without_end_is_ended_at_the_time_limit() {
    let deployment = Deployment::new().await;
    let (_chair, render) = deployment.upload("chair", Some(turned(0))).await;
    let chatters = r#"while echo '{"event":"previewReady"}'; do sleep 0.02; done;"#;
    let options = WorkerOptions { timeout: Duration::from_secs(3), ..counting(&deployment, chatters) };
    let worker = deployment.start_worker(options);
    let render = deployment.wait_until_ended(&render).await;
    assert_eq!(render.failure_code, Some(FailureCode::Timeout), "{render:?}");
    assert_eq!(starts(&deployment), 1);
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_process_ends_after_some_seconds() {
    let deployment = Deployment::new().await;
    let (chair, first) = deployment.upload("chair", Some(turned(0))).await;
    let worker = deployment.start_worker(counting(&deployment, ""));
    assert_done(&deployment, &[first]).await;
    let jobs = || processes_in(deployment.folder.path()).values().filter(|line| line.contains("/process-")).count();
    assert_eq!(jobs(), 1);
    let ended = async {
        while jobs() > 0 {
            sleep(Duration::from_millis(200)).await;
        }
    };
    timeout(TIMEOUT, ended).await.unwrap();
    let second = deployment.render_again(&chair, turned(90), "second").await;
    assert_done(&deployment, &[second]).await;
    assert_eq!(starts(&deployment), 2);
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_needs_much_memory_does_not_stay() {
    let deployment = Deployment::new().await;
    let (chair, first) = deployment.upload("chair", Some(turned(0))).await;
    let second = deployment.render_again(&chair, turned(90), "second").await;
    // A quarter of this memory limit is less than any render process needs.
    let options = WorkerOptions { memory_bytes: 400 << 20, ..counting(&deployment, "") };
    let worker = deployment.start_worker(options);
    assert_done(&deployment, &[first, second]).await;
    assert_eq!(starts(&deployment), 2);
    worker.stop().await;
}
