//! Tests of `plinth worker` as a process, and of its jobs when it dies.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use plinth_db::renders;
use plinth_service::storage::FirstIdentity;
use plinth_spec::id::RenderId;
use plinth_spec::state::RenderStatus;
use plinth_spec::{FailureCode, limits};
use tokio::time::{sleep, timeout};

use super::deployment::{Deployment, TIMEOUT, endless, tiny};
use crate::{copy_of_program, niceness, processes_in, program, program_at, replace_program, text};

/// A worker process, killed when dropped.
struct Process(Child);

impl Process {
    fn start(deployment: &Deployment) -> Self {
        Self::start_by(program(), deployment)
    }

    fn start_by(mut program: Command, deployment: &Deployment) -> Self {
        let data = deployment.folder.path();
        let process = program
            .args(["worker", "--data", data.to_str().unwrap(), "--database-url", deployment.database.address()])
            .args(["--store-url", &format!("file://{}/objects", data.display()), "--worker-slots", "1"])
            .args(["--lease-seconds", "2", "--worker-grace-seconds", "1"])
            .env("PLINTH_ADAPTER", "cpu")
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        Self(process)
    }

    fn signal(&self, name: &str) {
        assert!(Command::new("kill").arg(name).arg(self.0.id().to_string()).status().unwrap().success());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Returns the processes of jobs in the folder of a test service, without encoders.
fn jobs(deployment: &Deployment) -> Vec<u32> {
    let lines = processes_in(deployment.folder.path()).into_iter();
    lines.filter(|(_id, line)| line.contains("render-child")).map(|(id, _line)| id).collect()
}

/// Waits until all processes of jobs have ended, including encoders.
async fn until_no_job_lives(deployment: &Deployment) {
    let gone = async {
        while !processes_in(deployment.folder.path()).is_empty() {
            sleep(Duration::from_millis(30)).await;
        }
    };
    let gone = timeout(TIMEOUT, gone).await;
    assert!(gone.is_ok(), "these processes survive: {:?}", processes_in(deployment.folder.path()));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_job_of_a_killed_worker_ends_and_another_worker_takes_over() {
    let deployment = Deployment::in_real_time().await;
    let lost = deployment.upload_and_render("chair", endless()).await;
    // In each iteration, a new worker claims the render.
    for attempt in 1..=limits::LOSSES + 1 {
        let worker = Process::start(&deployment);
        let row = async || {
            let mut conn = deployment.service.db().read().await.unwrap();
            renders::find_anywhere(&mut conn, &RenderId::parse(&lost).unwrap()).await.unwrap().unwrap()
        };
        while row().await.attempt < attempt {
            sleep(Duration::from_millis(30)).await;
        }
        deployment.wait_until(&lost, |render| render.status == RenderStatus::VideoProcessing).await;
        assert_eq!(jobs(&deployment).len(), 1);
        worker.signal("-KILL");
        until_no_job_lives(&deployment).await;
    }
    let next = deployment.upload_and_render("stool", tiny()).await;
    let last = Process::start(&deployment);
    let render = deployment.wait_until_ended(&lost).await;
    assert_eq!((render.status, render.failure_code), (RenderStatus::Error, Some(FailureCode::Reaped)));
    assert_eq!(deployment.wait_until_ended(&next).await.status, RenderStatus::Done);
    assert_eq!(deployment.credits().await, 99, "the render is refunded after its workers were killed too often");
    drop(last);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_waits_for_the_next_render_ends_with_its_worker() {
    let deployment = Deployment::in_real_time().await;
    for signal in ["-KILL", "-TERM"] {
        let id = deployment.upload_and_render(signal, tiny()).await;
        let worker = Process::start(&deployment);
        assert_eq!(deployment.wait_until_ended(&id).await.status, RenderStatus::Done);
        assert!(!jobs(&deployment).is_empty(), "the process waits");
        worker.signal(signal);
        until_no_job_lives(&deployment).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_whose_program_was_replaced_runs_jobs_with_its_own_version() {
    let deployment = Deployment::in_real_time().await;
    let programs = tempfile::tempdir().unwrap();
    let program = copy_of_program(programs.path());
    let id = deployment.upload_and_render("chair", tiny()).await;
    let worker = Process::start_by(program_at(&program), &deployment);
    replace_program(&program);
    assert_eq!(deployment.wait_until_ended(&id).await.status, RenderStatus::Done);
    // The process of the render waits for the next one.
    let processes = processes_in(deployment.folder.path());
    let (job, line) = processes.iter().find(|(_id, line)| line.contains("render-child")).unwrap();
    let name = std::fs::read_to_string(format!("/proc/{job}/comm")).unwrap();
    assert!(line.starts_with("plinth render-child ") && name == "plinth\n", "{name}{line}");
    drop(worker);
    until_no_job_lives(&deployment).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_packaging_encoders_of_a_killed_worker_end() {
    let deployment = Deployment::in_real_time().await;
    // The script hangs in packaging, because only packaging uses a filter graph. The encoder of a packaging reads no
    // pipe from the job, so it cannot notice that the job died.
    let lines = r#"case "$*" in *-filter_complex*) exec sleep 1000;; esac; exec "$FFMPEG" "$@""#;
    let mut program = program();
    program.env("PLINTH_FFMPEG", deployment.ffmpeg_with(lines));
    deployment.upload_and_render("chair", tiny()).await;
    let worker = Process::start_by(program, &deployment);
    let encodes = async {
        while !processes_in(deployment.folder.path()).values().any(|line| line.starts_with("sleep 1000")) {
            sleep(Duration::from_millis(30)).await;
        }
    };
    timeout(TIMEOUT, encodes).await.unwrap();
    worker.signal("-KILL");
    until_no_job_lives(&deployment).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_names_failed_renders_with_code_and_cause() {
    let deployment = Deployment::in_real_time().await;
    // The worker's tests of ffmpeg, whose frames are smaller, succeed.
    let lines = r#"case "$*" in *960x540*) echo 'the encoder exploded' >&2; exit 1;; esac; exec "$FFMPEG" "$@""#;
    let (log, mut program) = (deployment.folder.path().join("log"), program());
    program.env("PLINTH_FFMPEG", deployment.ffmpeg_with(lines)).env("PLINTH_LOG_FORMAT", "json");
    program.stderr(std::fs::File::create(&log).unwrap());
    let worker = Process::start_by(program, &deployment);
    let id = deployment.upload_and_render("stool", tiny()).await;
    let render = deployment.wait_until_ended(&id).await;
    assert_eq!((render.status, render.failure_code), (RenderStatus::Error, Some(FailureCode::EncodeFailed)));
    drop(worker);
    let log = std::fs::read_to_string(log).unwrap();
    let lines = log.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let line = lines.into_iter().find(|line| line["render.id"] == id.as_str() && line["level"] == "WARN").unwrap();
    assert_eq!((&line["message"], &line["failure.code"]), (&"the render failed".into(), &"encode_failed".into()));
    assert!(line["failure.message"].as_str().unwrap().contains("the encoder exploded"), "{line}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_worker_exits_cleanly_and_releases_its_render() {
    let deployment = Deployment::in_real_time().await;
    let id = deployment.upload_and_render("chair", endless()).await;
    let mut worker = Process::start(&deployment);
    deployment.wait_until(&id, |render| render.status == RenderStatus::VideoProcessing).await;
    worker.signal("-TERM");
    assert_eq!(worker.0.wait().unwrap().code(), Some(0));
    assert_eq!(deployment.render(&id).await.status, RenderStatus::PosterDone);
    assert!(jobs(&deployment).is_empty());
    let left: Vec<_> = std::fs::read_dir(deployment.folder.path().join("worker")).unwrap().flatten().collect();
    assert!(!left.iter().any(|entry| entry.file_name().to_string_lossy().starts_with("run-")), "{left:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_has_no_secrets_and_has_resource_limits() {
    let deployment = Deployment::in_real_time().await;
    let id = deployment.upload_and_render("chair", endless()).await;
    let mut program = program();
    program.env("AWS_SECRET_ACCESS_KEY", "canary").env("PLINTH_SECRET", "canary").env("LP_NUM_THREADS", "2");
    let worker = Process::start_by(program, &deployment);
    deployment.wait_until(&id, |render| render.status == RenderStatus::VideoProcessing).await;
    let [job] = jobs(&deployment).try_into().unwrap();
    let about =
        |what: &str| String::from_utf8_lossy(&std::fs::read(format!("/proc/{job}/{what}")).unwrap()).into_owned();
    let environment = about("environ");
    assert!(!environment.contains("canary") && !environment.contains("sqlite://"), "{environment}");
    assert!(environment.contains("LP_NUM_THREADS=2"), "{environment}");
    let limits = about("limits");
    let line = |name: &str| limits.lines().find(|line| line.starts_with(name)).unwrap().to_owned();
    assert!(line("Max core file size").contains(" 0 "), "{limits}");
    assert!(line("Max file size").contains(" 68719476736          68719476736 "), "hard and soft: {limits}");
    let open_files = line("Max open files");
    assert_eq!(open_files.split_whitespace().skip(3).collect::<Vec<_>>(), ["1024", "1024", "files"], "soft and hard");
    let cpu_secs = line("Max cpu time").split_whitespace().nth(3).and_then(|soft| soft.parse::<u64>().ok());
    assert!(cpu_secs >= Some(3600), "{limits}");
    assert!(line("Max data size").contains(" 8589934592 "), "{limits}");
    assert_eq!(about("oom_score_adj").trim(), "1000");
    let expected = (niceness("self") + 5).min(19);
    assert_eq!(niceness(&job.to_string()), expected, "renders leave the processors to the server");
    // A kernel without autogroup scheduling has no such file.
    if let Ok(group) = std::fs::read_to_string(format!("/proc/{job}/autogroup")) {
        let expected = format!("nice {expected}");
        assert!(group.trim_end().ends_with(&expected), "the group of the job's session, too: {group}");
    }
    drop(worker);
    until_no_job_lives(&deployment).await;
}

/// Runs a worker whose store is a folder of its own, until it ends. Returns what it has printed.
async fn output_with_own_store(deployment: &Deployment) -> String {
    let data = deployment.folder.path().join("own");
    let mut worker = program();
    worker.args(["worker", "--data", data.to_str().unwrap(), "--database-url", deployment.database.address()]);
    let done = tokio::task::spawn_blocking(move || worker.output()).await.unwrap().unwrap();
    let printed = text(&done.stderr);
    assert_eq!(done.status.code(), Some(1), "{printed}");
    printed
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_with_a_folder_of_its_own_as_store_ends_with_this_reason() {
    let deployment = Deployment::with_postgres_in_real_time().await;
    deployment.upload("chair", None).await;
    let printed = output_with_own_store(&deployment).await;
    assert!(printed.contains("it is empty, but this database has files of models or renders"), "{printed}");
    assert!(printed.contains("write a text that no other store has to its object plinth-store-id"), "{printed}");
    assert_eq!(deployment.service.check_store_identity(FirstIdentity::Create).await.unwrap(), Ok(()));
    let printed = output_with_own_store(&deployment).await;
    assert!(printed.contains("does not belong to the database: it is empty"), "{printed}");
    assert!(printed.contains("to its object plinth-store-id"), "{printed}");
}
