//! Tests of a render that is claimed while previews are drawn: it does not wait for them, and its process has a higher priority.

use std::path::Path;
use std::time::Duration;

use plinth_service::previews::Preview;
use tokio::time::sleep;

use super::deployment::{Deployment, endless, tiny};
use super::previews::tiny_draft;
use crate::processes_in;

/// Returns the nice value of the job whose description contains this text, if it runs (proc(5), field 19).
fn nice_value(deployment: &Deployment, task: &str) -> Option<i32> {
    let jobs = processes_in(deployment.folder.path());
    let job = jobs.iter().find(|(_id, line)| {
        let folder = line.split(['\0', ' ']).skip_while(|word| *word != "render-child").nth(1).unwrap_or_default();
        std::fs::read_to_string(Path::new(folder).join("job.json")).is_ok_and(|text| text.contains(task))
    });
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", job?.0)).ok()?;
    stat.rsplit(") ").next()?.split(' ').nth(16)?.parse().ok()
}

async fn ask(deployment: &Deployment, model: &str) {
    // The test does not need the picture, so the preview may also fail.
    let _drawn = deployment
        .service
        .preview(&deployment.caller, model, Preview { options: tiny_draft(), ..Preview::default() })
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_render_is_drawn_while_a_preview_takes_forever() {
    let deployment = Deployment::new().await;
    let (model, _render) = deployment.upload("chair", None).await;
    let hangs = "if ! grep -q '\"preview\"' \"$3/job.json\"; then exec \"$@\"; fi\nsleep 1000";
    let worker = deployment.start_worker(deployment.options_with(hangs));
    let ordering = async {
        let render = deployment.upload_and_render("stool", tiny()).await;
        deployment.wait_until_ended(&render).await.error_message
    };
    tokio::select! {
        problem = ordering => assert_eq!(problem, None),
        () = ask(&deployment, &model) => panic!("the preview ended"),
    }
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preview_leaves_the_processors_to_a_render() {
    let deployment = Deployment::new().await;
    let (model, render) = deployment.upload("chair", Some(endless())).await;
    let worker = deployment.start_worker(deployment.options());
    deployment.wait_until(&render, |render| render.progress.is_some_and(|progress| progress > 0.0)).await;
    let comparing = async {
        loop {
            // A process that has just started has the nice value of the worker.
            let pair = (nice_value(&deployment, "\"render\""), nice_value(&deployment, "\"preview\""));
            if let (Some(render), Some(preview)) = pair
                && preview > render
            {
                return;
            }
            sleep(Duration::from_millis(50)).await;
        }
    };
    ask(&deployment, &model).await;
    tokio::time::timeout(Duration::from_secs(20), comparing).await.expect("the preview has a higher nice value");
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn previews_rest_as_long_as_they_draw_while_a_render_is_drawn() {
    let deployment = Deployment::new().await;
    let (model, render) = deployment.upload("chair", Some(endless())).await;
    // The job takes 50 ms for each preview, and logs when it begins and ends, in nanoseconds.
    let times = deployment.folder.path().join("times");
    let job = format!(
        "if ! grep -q '\"preview\"' \"$3/job.json\"; then exec \"$@\"; fi\n\
         cd \"$3\"; while read -r line; do date +%s%N >> {0}; sleep 0.05; date +%s%N >> {0}; \
         printf '\\x89PNG\\r\\n\\x1a\\n' > out/preview.png; echo '{{\"event\":\"previewed\",\"warnings\":[]}}'; done",
        times.display()
    );
    let worker = deployment.start_worker(deployment.options_with(&job));
    deployment.wait_until(&render, |render| render.progress.is_some_and(|progress| progress > 0.0)).await;
    for _ in 0..4 {
        ask(&deployment, &model).await;
    }
    let times = std::fs::read_to_string(times).unwrap();
    let times: Vec<u64> = times.lines().map(|time| time.parse().unwrap()).collect();
    assert_eq!(times.len(), 8);
    for at in (2..8).step_by(2) {
        let [begin, end, next] = [times[at - 2], times[at - 1], times[at]];
        assert!(next - end >= end - begin, "{times:?}");
    }
    worker.stop().await;
}
