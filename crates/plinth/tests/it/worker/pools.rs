//! Workers of pools: what they take, when they end by themselves, and what they say about their health.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use plinth_spec::state::RenderStatus;
use serde_json::json;
use tokio::time::{sleep, timeout};

use super::house::{House, PATIENCE, endless, tiny};
use crate::program;

/// `plinth worker` on the database and the files of a house; it is killed when dropped.
pub(super) struct Process(Child);

impl Process {
    pub(super) fn start(house: &House, flags: &[&str]) -> Self {
        let data = house.folder.path();
        let process = program()
            .args(["worker", "--data", data.to_str().unwrap(), "--database-url", house.database.address()])
            .args(["--store-url", &format!("file://{}/objects", data.display()), "--worker-slots", "1"])
            .args(flags)
            .env("PLINTH_ADAPTER", "cpu")
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        Self(process)
    }

    /// The exit code of a worker that ends by itself.
    async fn end(&mut self) -> Option<i32> {
        let ended = async {
            loop {
                if let Some(status) = self.0.try_wait().unwrap() {
                    return status.code();
                }
                sleep(Duration::from_millis(30)).await;
            }
        };
        timeout(PATIENCE, ended).await.unwrap()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_draws_what_it_takes_and_ends_when_there_is_no_more() {
    let house = House::in_real_time().await;
    let share = house.order("chair", tiny()).await;
    let standard = house.order("table", json!({"quality": "standard", "length": 0.04})).await;
    let mut worker = Process::start(&house, &["--takes", "share,pro", "--pool", "small", "--exit-when-idle"]);
    assert_eq!(worker.end().await, Some(0));
    assert_eq!(house.render(&share).await.status, RenderStatus::Done);
    assert!(house.service.claim_packaging("w").await.unwrap().is_none(), "the video was packaged before the end");
    assert_eq!(house.render(&standard).await.status, RenderStatus::Pending);
    let mut worker = Process::start(&house, &["--exit-when-idle=1"]);
    assert_eq!(worker.end().await, Some(0));
    assert_eq!(house.render(&standard).await.status, RenderStatus::Done);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_is_ready_while_it_claims_and_alive_until_its_last_job_has_ended() {
    let house = House::in_real_time().await;
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let flags = ["--health-listen", &address, "--worker-grace-seconds", "200"];
    let mut worker = Process::start(&house, &flags);
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
        timeout(PATIENCE, asked).await.unwrap()
    };
    until("/livez", 200).await;
    until("/readyz", 200).await;
    let id = house.order("chair", endless()).await;
    house.until(&id, |render| render.status == RenderStatus::VideoProcessing).await;
    assert!(Command::new("kill").arg("-TERM").arg(worker.0.id().to_string()).status().unwrap().success());
    assert_eq!(until("/readyz", 503).await, "the worker is stopping");
    assert_eq!(ask("/livez").await.unwrap().0, 200, "it draws on");
    assert_eq!(house.render(&id).await.status, RenderStatus::VideoProcessing);
    assert!(worker.0.try_wait().unwrap().is_none());
}
