//! Tests of workers of pools: the renders that they take, their exit when they are idle, and their health checks.

use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use plinth_spec::state::RenderStatus;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use super::deployment::{Deployment, TIMEOUT, endless, tiny};
use crate::program;

/// A `plinth worker` process on the database and the files of a test service. It is killed on drop.
pub(super) struct Process(Child);

impl Process {
    pub(super) fn start(deployment: &Deployment, flags: &[&str]) -> Self {
        Self::start_by(program(), deployment, flags)
    }

    fn start_by(mut program: Command, deployment: &Deployment, flags: &[&str]) -> Self {
        let data = deployment.folder.path();
        let process = program
            .args(["worker", "--data", data.to_str().unwrap(), "--database-url", deployment.database.address()])
            .args(["--store-url", &format!("file://{}/objects", data.display()), "--worker-slots", "1"])
            .args(flags)
            .env("PLINTH_ADAPTER", "cpu")
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        Self(process)
    }

    /// Waits until the worker ends by itself, and returns its exit code.
    async fn end(&mut self) -> Option<i32> {
        let ended = async {
            loop {
                if let Some(status) = self.0.try_wait().unwrap() {
                    return status.code();
                }
                sleep(Duration::from_millis(30)).await;
            }
        };
        timeout(TIMEOUT, ended).await.unwrap()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_renders_the_classes_that_it_takes_and_exits_when_idle() {
    let deployment = Deployment::in_real_time().await;
    let share = deployment.upload_and_render("chair", tiny()).await;
    let standard = deployment.upload_and_render("table", json!({"quality": "standard", "length": 0.04})).await;
    let mut worker = Process::start(&deployment, &["--takes", "share,pro", "--pool", "small", "--exit-when-idle"]);
    assert_eq!(worker.end().await, Some(0));
    assert_eq!(deployment.render(&share).await.status, RenderStatus::Done);
    assert!(
        deployment.service.claim_packaging("w").await.unwrap().is_none(),
        "the worker packaged the video before it ended"
    );
    assert_eq!(deployment.render(&standard).await.status, RenderStatus::Pending);
    let mut worker = Process::start(&deployment, &["--exit-when-idle=1"]);
    assert_eq!(worker.end().await, Some(0));
    assert_eq!(deployment.render(&standard).await.status, RenderStatus::Done);
}

/// Waits for a line with this message in a log, and returns the address in this line.
async fn address_in(log: &Path, message: &str) -> String {
    let reading = async {
        loop {
            let text = std::fs::read_to_string(log).unwrap();
            let mut lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
            if let Some(line) = lines.find(|line| line["message"] == message) {
                return line["address"].as_str().unwrap().to_owned();
            }
            sleep(Duration::from_millis(30)).await;
        }
    };
    timeout(TIMEOUT, reading).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_is_ready_while_it_claims_and_alive_until_its_last_job_has_ended() {
    let deployment = Deployment::in_real_time().await;
    let (log, mut program) = (deployment.folder.path().join("log"), program());
    program.env("PLINTH_LOG_FORMAT", "json").stderr(File::create(&log).unwrap());
    let any = "127.0.0.1:0";
    let flags = ["--health-listen", any, "--metrics-listen", any, "--worker-grace-seconds", "200"];
    let mut worker = Process::start_by(program, &deployment, &flags);
    let address = address_in(&log, "health checks are served").await;
    let metrics = address_in(&log, "metrics are served").await;
    let http = plinth_testkit::Client::new(&format!("http://{address}"), "").http;
    let ask = async |path: &str| {
        let answer = http.get(format!("http://{address}{path}")).send().await.ok()?;
        let status = answer.status().as_u16();
        Some((status, answer.text().await.unwrap()))
    };
    let until = async |path: &'static str, status: u16| {
        let asked = async {
            loop {
                match ask(path).await {
                    Some((found, text)) if found == status => return text,
                    _ => sleep(Duration::from_millis(30)).await,
                }
            }
        };
        timeout(TIMEOUT, asked).await.unwrap()
    };
    until("/livez", 200).await;
    until("/readyz", 200).await;
    let id = deployment.upload_and_render("chair", endless()).await;
    deployment.wait_until(&id, |render| render.status == RenderStatus::VideoProcessing).await;
    assert!(Command::new("kill").arg("-TERM").arg(worker.0.id().to_string()).status().unwrap().success());
    assert_eq!(until("/readyz", 503).await, "the worker is stopping");
    assert_eq!(ask("/livez").await.unwrap().0, 200, "the worker is alive while it finishes its job");
    let scraped = http.get(format!("http://{metrics}/metrics")).send().await.unwrap().text().await.unwrap();
    assert!(scraped.contains("plinth_worker_running{kind=\"render\"} 1"), "{scraped}");
    assert_eq!(deployment.render(&id).await.status, RenderStatus::VideoProcessing);
    assert!(worker.0.try_wait().unwrap().is_none());
}
