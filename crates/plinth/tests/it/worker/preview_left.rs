//! Tests of previews whose clients disconnect, and of the worker time that accounts are charged for previews. The jobs
//! are scripts, which sleep instead of loading a model.

use std::path::{Path, PathBuf};
use std::time::Duration;

use plinth_service::access::Caller;
use plinth_service::previews::Preview;
use plinth_service::{Service, ServiceError};
use plinth_spec::id::WorkspaceId;
use plinth_worker::WorkerOptions;
use serde_json::json;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::deployment::{Deployment, TIMEOUT, Worker};
use super::previews::{server, tiny_draft};

/// Maximum wait for the end of a process. It is half of the time limit of a frame.
const PATIENCE: Duration = Duration::from_mins(1);

/// A worker that draws only previews, and a service that asks it for previews.
struct Asked {
    deployment: Deployment,
    service: Service,
    worker: Worker,
}

impl Asked {
    /// Starts a worker, and waits until it has drawn a preview. If `is_elsewhere`, the service acts as another process.
    /// Each further preview process runs the next command of `loads` instead of loading a model.
    async fn new(deployment: Deployment, is_elsewhere: bool, loads: &[&str]) -> Self {
        let cases: Vec<String> = loads.iter().enumerate().map(|(n, load)| format!("{}) {load};;", n + 2)).collect();
        let cases = cases.join(" ");
        let job = format!(
            "if ! grep -q '\"preview\"' \"$3/job.json\"; then exec \"$@\"; fi\n\
             cd \"$3\"; echo $$ >> {pids}; case $(wc -l < {pids}) in {cases} esac\n\
             while read -r line; do printf '\\x89PNG\\r\\n\\x1a\\n' > out/preview.png; \
             echo '{{\"event\":\"previewed\",\"warnings\":[]}}'; done",
            pids = deployment.folder.path().join("pids").display()
        );
        let takes = "preview".parse().unwrap();
        let worker = deployment.start_worker(WorkerOptions { takes, ..deployment.options_with(&job) });
        let service = if is_elsewhere { server(&deployment).await } else { deployment.service.clone() };
        let asked = Self { deployment, service, worker };
        let other = asked.deployment.caller_of("warm@example.org").await;
        let model = asked.deployment.upload_of(&other, "warm").await;
        asked.ask(&other, &model, 1.0).await.unwrap().unwrap();
        asked
    }

    /// Asks for a preview in a task, as a request handler does.
    fn ask(&self, caller: &Caller, model: &str, zoom: f64) -> JoinHandle<Result<Vec<u8>, ServiceError>> {
        let (service, caller, model) = (self.service.clone(), caller.clone(), model.to_owned());
        let settings = json!({"zoom": zoom}).as_object().unwrap().clone();
        let preview = Preview { settings, options: tiny_draft(), ..Preview::default() };
        tokio::spawn(async move { timeout(TIMEOUT, service.preview(&caller, &model, preview)).await.unwrap() })
    }

    /// Returns the folders below `/proc` of the preview processes that the worker has started.
    fn processes(&self) -> Vec<PathBuf> {
        let pids = std::fs::read_to_string(self.deployment.folder.path().join("pids")).unwrap();
        pids.lines().map(|pid| Path::new("/proc").join(pid)).collect()
    }

    /// Waits until the worker has started its second process.
    async fn second_process(&self) -> PathBuf {
        let starting = async {
            loop {
                if let [_first, second, ..] = self.processes().as_slice() {
                    return second.clone();
                }
                sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(TIMEOUT, starting).await.unwrap()
    }

    /// Stops the worker. Returns the workspaces of the queued renders, in the order of the queue: those of the account that has
    /// used the least worker time come first.
    async fn queue(self) -> Vec<WorkspaceId> {
        self.worker.stop().await;
        let mut order = Vec::new();
        while let Some(claim) = self.deployment.service.claim_renders("test", 1).await.unwrap().pop() {
            order.push(claim.render.workspace_id);
        }
        order
    }
}

async fn a_frame_whose_client_has_left_is_ended_and_charged(deployment: Deployment, is_elsewhere: bool) {
    let asked = Box::pin(Asked::new(deployment, is_elsewhere, &["exec sleep 1000"])).await;
    let (caller, guest) = (asked.deployment.caller.clone(), asked.deployment.other_caller().await);
    // Each upload queues a render.
    let model = asked.deployment.upload("chair", None).await.0;
    asked.deployment.upload_of(&guest, "stool").await;
    let asking = asked.ask(&caller, &model, 1.0);
    let process = asked.second_process().await;
    asking.abort();
    let ending = async {
        while process.exists() {
            sleep(Duration::from_millis(50)).await;
        }
    };
    let ended = timeout(PATIENCE, ending).await;
    assert!(ended.is_ok(), "the frame is not ended before its time limit");
    let order = asked.queue().await;
    let place_of = |caller: &Caller| order.iter().position(|of| *of == caller.workspace_id).unwrap();
    assert!(place_of(&guest) < place_of(&caller), "the account was charged: {order:?}");
}

async fn a_model_is_loaded_to_the_end_for_the_next_request(deployment: Deployment, is_elsewhere: bool) {
    let asked = Box::pin(Asked::new(deployment, is_elsewhere, &["sleep 6"])).await;
    let caller = asked.deployment.caller.clone();
    let model = asked.deployment.upload("chair", None).await.0;
    let first = asked.ask(&caller, &model, 1.0);
    asked.second_process().await;
    first.abort();
    asked.ask(&caller, &model, 1.5).await.unwrap().unwrap();
    assert_eq!(asked.processes().len(), 2, "the model is loaded once");
    asked.worker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_for_previews_of_others_is_not_charged() {
    let deployment = Deployment::in_real_time().await;
    let asked = Box::pin(Asked::new(deployment, false, &["sleep 3", "sleep 0.5"])).await;
    let (caller, guest) = (asked.deployment.caller.clone(), asked.deployment.other_caller().await);
    let model = asked.deployment.upload("chair", None).await.0;
    let other = asked.deployment.upload_of(&guest, "stool").await;
    let first = asked.ask(&caller, &model, 1.0);
    asked.second_process().await;
    asked.ask(&guest, &other, 1.0).await.unwrap().unwrap();
    first.await.unwrap().unwrap();
    let order = asked.queue().await;
    let place_of = |caller: &Caller| order.iter().position(|of| *of == caller.workspace_id).unwrap();
    assert!(place_of(&guest) < place_of(&caller), "the guest has used less: {order:?}");
}

on_each_worker! {
    here: in_real_time, false, [
        a_frame_whose_client_has_left_is_ended_and_charged
        a_model_is_loaded_to_the_end_for_the_next_request
    ];
    with_sqlite: in_real_time, true, [a_frame_whose_client_has_left_is_ended_and_charged];
    with_postgres: with_postgres_in_real_time, true, [
        a_frame_whose_client_has_left_is_ended_and_charged
        a_model_is_loaded_to_the_end_for_the_next_request
    ];
}
