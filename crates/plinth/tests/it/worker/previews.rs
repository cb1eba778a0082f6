//! Tests of previews that other processes have requested, with compromised jobs, a stopping worker, a full disk, a store that is
//! not mounted, and assets that are deleted in the meantime.

use std::process::Command;
use std::time::{Duration, Instant};

use plinth_db::{Db, DbOptions, previews};
use plinth_service::assets::{NewOverlay, NewTexture};
use plinth_service::previews::Preview;
use plinth_service::storage::FirstIdentity;
use plinth_service::{Service, ServiceError};
use plinth_spec::WorkerState;
use plinth_spec::preview::PreviewOptions;
use plinth_store::{LinkSigner, Store, StoreOptions};
use plinth_testkit::{glb_too_large_to_draw, png};
use plinth_worker::WorkerOptions;
use serde_json::{Value, json};
use tokio::net::unix::pipe;
use tokio::time::{sleep, timeout};

use super::deployment::{Deployment, TIMEOUT, Worker};
use crate::processes_in;

/// Status and message of a preview that failed because of the service.
const INTERNAL: (u16, &str) = (500, "the server could not process the request; please try again");

/// Opens a second service on the same database and store, as a server without a worker does.
pub(super) async fn server(deployment: &Deployment) -> Service {
    let db = Db::open(deployment.database.address(), DbOptions::default()).await.unwrap();
    let store = Store::open(StoreOptions {
        address: format!("file://{}", deployment.folder.path().join("objects").display()),
        s3: Vec::new(),
        s3_public_endpoint: None,
        signer: LinkSigner::new("http://127.0.0.1:1".parse().unwrap()),
    });
    let service = Service::new(db, store.unwrap(), deployment.service.options().clone());
    let listening = service.clone();
    tokio::spawn(async move { listening.listen_for_pictures().await });
    service
}

/// Options of a preview that is drawn as fast as possible.
pub(super) fn tiny_draft() -> PreviewOptions {
    PreviewOptions { longest: 64, is_draft: true, ..PreviewOptions::default() }
}

async fn ask(deployment: &Deployment, server: &Service, model: &str, zoom: f64) -> Result<Vec<u8>, ServiceError> {
    let settings = json!({"zoom": zoom}).as_object().unwrap().clone();
    let preview = Preview { settings, options: tiny_draft(), ..Preview::default() };
    timeout(TIMEOUT, server.preview(&deployment.caller, model, preview)).await.unwrap()
}

/// Returns whether a worker draws a preview or has a model loaded.
async fn is_leased(service: &Service) -> bool {
    let mut conn = service.db().read().await.unwrap();
    let now = conn.now_ms().await.unwrap();
    previews::is_any_leased(&mut conn, now).await.unwrap()
}

/// Returns the script of a job. For each request, it runs the next command of `makes`, which creates `"$file"`, and
/// then reports that it has drawn a picture.
fn job_that(makes: &[&str]) -> String {
    let cases: Vec<String> = makes.iter().enumerate().map(|(n, command)| format!("{n}) {command};;")).collect();
    let cases = cases.join(" ");
    format!(
        "if ! grep -q '\"preview\"' \"$3/job.json\"; then exec \"$@\"; fi\n\
         cd \"$3\"; file=out/preview.png; n=0\n\
         while read -r line; do rm -rf $file; case $n in {cases} esac; n=$((n + 1)); \
         echo '{{\"event\":\"previewed\",\"warnings\":[]}}'; done"
    )
}

async fn no_file_but_a_picture_comes_back(deployment: Deployment) {
    let (model, _render) = deployment.upload("chair", None).await;
    let server = server(&deployment).await;
    let secret = deployment.folder.path().join("secret");
    std::fs::write(&secret, b"\x89PNG\r\n\x1a\n and a secret").unwrap();
    let (linked, piped) = (format!("ln -s {} $file", secret.display()), "mkfifo $file");
    let large = "(printf '\\x89PNG\\r\\n\\x1a\\n'; head -c 17000000 /dev/zero) > $file";
    let options =
        deployment.options_with(&job_that(&[&linked, piped, large, "echo text > $file", "true", "mkdir $file"]));
    let worker = deployment.start_worker(options);
    for n in 0..6 {
        let error = ask(&deployment, &server, &model, 1.0 + f64::from(n) / 10.0).await.unwrap_err();
        assert_eq!((error.status, error.message.as_str()), INTERNAL, "{n}");
    }
    worker.stop().await;
}

/// Each preview process runs the next of some commands instead of loading the model.
#[tokio::test(flavor = "multi_thread")]
async fn only_failures_that_the_request_caused_are_errors_of_the_request() {
    let deployment = Deployment::in_real_time().await;
    let (model, _render) = deployment.upload("chair", None).await;
    let (lost, _render) = deployment.upload("lost", None).await;
    std::fs::remove_file(deployment.folder.path().join(format!("objects/models/{lost}.glb"))).unwrap();
    let server = server(&deployment).await;
    // The last process receives two requests. It needs much memory for the second one, perhaps because of the first one.
    let commands = [
        "exit 3",
        "kill -s SEGV $$",
        r#"echo '{"event":"failed","code":"display_lost","message":"install a driver"}'; exit"#,
        "exec setsid -w bash -c 'dd if=/dev/zero bs=300M count=1 2> out/null | sleep 1000'",
        r#"read -r line; echo '{"event":"previewRejected","code":"display_lost","message":"the device is lost"}'
           read -r line"#,
        r#"read -r line; echo '{"event":"previewRejected","code":"overlay_missing","message":"no image","is_of_request":true}'
           read -r line; exec setsid -w bash -c 'dd if=/dev/zero bs=300M count=1 2> out/null | sleep 1000'"#,
    ];
    let cases: Vec<String> = commands.iter().zip(1..).map(|(command, n)| format!("{n}) {command};;")).collect();
    let cases = cases.join("\n");
    let starts = deployment.folder.path().join("starts");
    let job = format!(
        "if ! grep -q '\"preview\"' \"$3/job.json\"; then exec \"$@\"; fi\n\
         cd \"$3\"; echo >> {0}; case $(wc -l < {0}) in {cases} esac",
        starts.display()
    );
    let options = WorkerOptions { memory_bytes: 250 << 20, ..deployment.options_with(&job) };
    let worker = deployment.start_worker(WorkerOptions { takes: "preview".parse().unwrap(), ..options });
    let too_large = (422, "the render needs more than 250 MB of memory; a simpler model or smaller textures help");
    let no_image = (422, "no image");
    for (process, expected) in
        [(1, INTERNAL), (2, INTERNAL), (3, INTERNAL), (4, too_large), (5, INTERNAL), (6, no_image), (6, INTERNAL)]
    {
        let error = ask(&deployment, &server, &model, 1.0).await.unwrap_err();
        let starts = std::fs::read_to_string(&starts).unwrap().len();
        assert_eq!((starts, error.status, error.message.as_str()), (process, expected.0, expected.1));
    }
    let error = ask(&deployment, &server, &lost, 1.0).await.unwrap_err();
    assert_eq!((error.status, error.message.as_str()), INTERNAL, "the model is not in the store");
    worker.stop().await;
}

/// A process draws a picture and then ends when it receives another request, except the second process, which ends at once.
#[tokio::test(flavor = "multi_thread")]
async fn a_preview_whose_process_ends_after_earlier_ones_is_drawn_by_a_new_process_once() {
    let deployment = Deployment::in_real_time().await;
    let (model, _render) = deployment.upload("chair", None).await;
    let starts = deployment.folder.path().join("starts");
    let job = format!(
        "if ! grep -q '\"preview\"' \"$3/job.json\"; then exec \"$@\"; fi\n\
         cd \"$3\"; echo >> {0}; case $(wc -l < {0}) in 2) exit 3;; esac\n\
         read -r line; printf '\\x89PNG\\r\\n\\x1a\\n' > out/preview.png\n\
         echo '{{\"event\":\"previewed\",\"warnings\":[]}}'; read -r line; exit 3",
        starts.display()
    );
    let takes = "preview".parse().unwrap();
    let worker = deployment.start_worker(WorkerOptions { takes, ..deployment.options_with(&job) });
    for (zoom, process, is_drawn) in [(1.0, 1, true), (1.1, 2, false), (1.2, 3, true), (1.3, 4, true)] {
        let drawn = ask(&deployment, &deployment.service, &model, zoom).await;
        let rejection = drawn.err().map(|error| (error.status, error.message));
        assert_eq!(rejection, (!is_drawn).then(|| (INTERNAL.0, INTERNAL.1.to_owned())), "{zoom}");
        assert_eq!(std::fs::read_to_string(&starts).unwrap().len(), process, "{zoom}");
    }
    worker.stop().await;
}

/// Returns the soft limit of the CPU time of the deployment's only job, in seconds.
fn processor_limit(deployment: &Deployment) -> u64 {
    let processes = processes_in(deployment.folder.path());
    let (job, _line) = processes.iter().find(|(_id, line)| line.contains("render-child")).unwrap();
    let limits = std::fs::read_to_string(format!("/proc/{job}/limits")).unwrap();
    let line = limits.lines().find(|line| line.starts_with("Max cpu time")).unwrap();
    line.split_whitespace().nth(3).unwrap().parse().unwrap()
}

/// For its first picture, the process uses two seconds of CPU time.
#[tokio::test(flavor = "multi_thread")]
async fn a_preview_process_may_use_the_same_processor_time_for_each_picture() {
    let deployment = Deployment::in_real_time().await;
    let (model, _render) = deployment.upload("chair", None).await;
    let works = "while read -ra stat < /proc/$$/stat; ((stat[13] + stat[14] < 200)); do \
                 for ((i = 0; i < 10000; i++)); do :; done; done; printf '\\x89PNG\\r\\n\\x1a\\n' > $file";
    let options = deployment.options_with(&job_that(&[works; 3]));
    let worker = deployment.start_worker(WorkerOptions { takes: "preview".parse().unwrap(), ..options });
    let mut limits = Vec::new();
    for zoom in [1.0, 1.5, 2.0] {
        ask(&deployment, &deployment.service, &model, zoom).await.unwrap();
        limits.push(processor_limit(&deployment));
    }
    // A limit contains at least three minutes for one picture.
    assert!((1..60).contains(&(limits[2] - limits[0])), "{limits:?}");
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_cannot_be_drawn_is_an_error_of_the_request() {
    let deployment = Deployment::in_real_time().await;
    let (model, _render) = deployment.upload_file("huge", &glb_too_large_to_draw(), None).await;
    let server = server(&deployment).await;
    let takes = "preview".parse().unwrap();
    let worker = deployment.start_worker(WorkerOptions { takes, ..deployment.options() });
    let error = ask(&deployment, &server, &model, 1.0).await.unwrap_err();
    assert!(error.status == 422 && error.message.starts_with("nothing can be drawn"), "{error:?}");
    worker.stop().await;
}

async fn a_worker_that_stops_leaves_its_preview_to_another(deployment: Deployment) {
    let (model, _render) = deployment.upload("chair", None).await;
    let server = server(&deployment).await;
    let hangs = "if ! grep -q '\"preview\"' \"$3/job.json\"; then exec \"$@\"; fi\nsleep 1000";
    let first = deployment.start_worker(deployment.options_with(hangs));
    let stopping = async {
        while !is_leased(&server).await {
            sleep(Duration::from_millis(20)).await;
        }
        first.stop().await;
        // The second worker has a service of its own, as in another process.
        Worker::start(self::server(&deployment).await, deployment.options())
    };
    let (drawn, second) = tokio::join!(ask(&deployment, &server, &model, 1.5), stopping);
    let picture = image::load_from_memory(&drawn.unwrap()).unwrap();
    assert_eq!((picture.width(), picture.height()), (64, 36));
    second.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_whose_folder_is_not_mounted_leaves_its_preview_to_another() {
    let deployment = Deployment::with_postgres_in_real_time().await;
    assert_eq!(deployment.service.check_store_identity(FirstIdentity::Create).await.unwrap(), Ok(()));
    let (model, _render) = deployment.upload("chair", None).await;
    let server = server(&deployment).await;
    let [objects, elsewhere] = ["objects", "elsewhere"].map(|name| deployment.folder.path().join(name));
    std::fs::rename(&objects, &elsewhere).unwrap();
    std::fs::create_dir(&objects).unwrap();
    let options = || WorkerOptions { takes: "preview".parse().unwrap(), ..deployment.options() };
    let first = deployment.start_worker(options());
    let replacing = async {
        let is_lost = async || {
            let workers = deployment.service.fleet().await.unwrap().workers;
            workers.iter().any(|worker| worker.row.state == WorkerState::StoreUnreachable)
        };
        while !is_lost().await {
            sleep(Duration::from_millis(20)).await;
        }
        std::fs::remove_dir_all(&objects).unwrap();
        std::fs::rename(&elsewhere, &objects).unwrap();
        // The first worker claims nothing in the minute after the failed test.
        let options = WorkerOptions { name: "second".to_owned(), ..options() };
        Worker::start(self::server(&deployment).await, options)
    };
    let (drawn, second) = tokio::join!(ask(&deployment, &server, &model, 1.5), timeout(TIMEOUT, replacing));
    let picture = image::load_from_memory(&drawn.unwrap()).unwrap();
    assert_eq!((picture.width(), picture.height()), (64, 36));
    first.stop().await;
    second.unwrap().stop().await;
}

/// Returns the processor time that the processes of a deployment have used, in clock ticks.
fn processor_ticks(deployment: &Deployment) -> u64 {
    let of = |id: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        // The name of the program, in parentheses, may contain spaces.
        let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
        [11, 12].iter().filter_map(|at| fields.get(*at)?.parse::<u64>().ok()).sum::<u64>()
    };
    processes_in(deployment.folder.path()).keys().map(of).sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_preview_uses_no_processor_time_and_ends() {
    const IDLE: Duration = Duration::from_secs(4);
    let deployment = Deployment::in_real_time().await;
    let (model, _render) = deployment.upload("chair", None).await;
    let server = server(&deployment).await;
    // The worker takes only requested previews, because the free preview of the upload would start another process.
    let options = WorkerOptions { preview_idle: IDLE, takes: "preview".parse().unwrap(), ..deployment.options() };
    let worker = deployment.start_worker(options);
    for zoom in [1.0, 1.5] {
        ask(&deployment, &server, &model, zoom).await.unwrap();
        let begin = Instant::now();
        sleep(IDLE / 8).await;
        let before = (processes_in(deployment.folder.path()), processor_ticks(&deployment));
        sleep(IDLE / 4).await;
        let after = (processes_in(deployment.folder.path()), processor_ticks(&deployment));
        assert!(
            begin.elapsed() > IDLE || !after.0.is_empty() && before.0 == after.0,
            "it stays for a while: {after:?}"
        );
        assert!(after.1 <= before.1 + 1, "{before:?} {after:?}");
        let ending = async {
            while !processes_in(deployment.folder.path()).is_empty() {
                sleep(Duration::from_millis(50)).await;
            }
        };
        timeout(TIMEOUT / 2, ending).await.unwrap();
        assert!(begin.elapsed() >= IDLE, "{:?}", begin.elapsed());
    }
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_with_a_full_disk_takes_none() {
    let deployment = Deployment::in_real_time().await;
    let (model, _render) = deployment.upload("chair", None).await;
    let server = server(&deployment).await;
    let worker = deployment.start_worker(WorkerOptions { room_bytes: u64::MAX, ..deployment.options() });
    let error = ask(&deployment, &server, &model, 1.0).await.unwrap_err();
    assert_eq!((error.status, error.message.as_str()), (404, "no worker draws previews at the moment"));
    worker.stop().await;
}

/// Asks for a preview of a model that no process has loaded, and calls `delete` after the worker has found the assets of the
/// settings and before it downloads them.
async fn ask_and_delete(
    deployment: &Deployment,
    model: &str,
    settings: &Value,
    delete: impl Future<Output = ()>,
) -> Result<Vec<u8>, ServiceError> {
    // The worker reads this FIFO in place of the cached model. When the FIFO ends, the worker downloads the model.
    let cached = deployment.options().scratch.join("models").join(model);
    std::fs::create_dir_all(&cached).unwrap();
    let fifo = cached.join("model.glb");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let deleting = async {
        // Opening the FIFO fails until the worker reads it.
        let opened = loop {
            match pipe::OpenOptions::new().open_sender(&fifo) {
                Ok(opened) => break opened,
                Err(_unread) => sleep(Duration::from_millis(20)).await,
            }
        };
        delete.await;
        drop(opened);
    };
    let settings = settings.as_object().unwrap().clone();
    let preview = Preview { settings, options: tiny_draft(), ..Preview::default() };
    let drawing = deployment.service.preview(&deployment.caller, model, preview);
    timeout(TIMEOUT, async { tokio::join!(drawing, deleting).0 }).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_asset_that_is_deleted_meanwhile_is_treated_as_in_renders() {
    let deployment = Deployment::in_real_time().await;
    let (request, objects) = (deployment.folder.path().join("request"), deployment.folder.path().join("objects"));
    let job = format!(
        "if ! grep -q '\"preview\"' \"$3/job.json\"; then exec \"$@\"; fi\n\
         cd \"$3\"; while read -r line; do printf '%s' \"$line\" > {}; \
         printf '\\x89PNG\\r\\n\\x1a\\n' > out/preview.png; \
         echo '{{\"event\":\"previewed\",\"warnings\":[]}}'; done",
        request.display()
    );
    let takes = "preview".parse().unwrap();
    let worker = deployment.start_worker(WorkerOptions { takes, ..deployment.options_with(&job) });
    let (service, caller) = (&deployment.service, &deployment.caller);

    let mut textures = Vec::new();
    for shade in [0, 1] {
        let texture = NewTexture { file: Some(deployment.file(&png(shade)).await), name: None };
        textures.push(service.create_texture(caller, texture).await.unwrap().id);
    }
    let [kept, deleted] = textures.try_into().unwrap();
    let (model, _render) = deployment.upload("chair", None).await;
    let settings = json!({"materialEdits": {"Steel": {"mapAssetId": kept}, "Wood": {"mapAssetId": deleted}}});
    let delete = async {
        service.delete_texture(caller, &deleted).await.unwrap();
        std::fs::remove_file(objects.join(format!("textures/{deleted}"))).unwrap();
    };
    Box::pin(ask_and_delete(&deployment, &model, &settings, delete)).await.unwrap();
    let request: Value = serde_json::from_slice(&std::fs::read(request).unwrap()).unwrap();
    assert_eq!(request["images"], json!({&kept: format!("image-{kept}")}));

    let overlay = NewOverlay {
        file: Some(deployment.file(&png(0)).await),
        filename: "a.png".to_owned(),
        ..NewOverlay::default()
    };
    let overlay = service.create_overlay(caller, overlay).await.unwrap().id;
    let (model, _render) = deployment.upload("stool", None).await;
    let delete = async {
        service.delete_overlay(caller, overlay.as_str()).await.unwrap();
        std::fs::remove_file(objects.join(format!("overlays/{overlay}"))).unwrap();
    };
    let error =
        Box::pin(ask_and_delete(&deployment, &model, &json!({"bgImageId": overlay}), delete)).await.unwrap_err();
    let message = format!("the overlay '{overlay}' was deleted or belongs to another workspace");
    assert_eq!((error.status, error.message), (422, message));
    worker.stop().await;
}

/// Draws a preview with a job that then runs a command, and waits until the worker has ended the job.
async fn ends_after_a_picture(command: &str) {
    let deployment = Deployment::in_real_time().await;
    let (model, _render) = deployment.upload("chair", None).await;
    let pid = deployment.folder.path().join("pid");
    let job = format!(
        "if ! grep -q '\"preview\"' \"$3/job.json\"; then exec \"$@\"; fi\n\
         cd \"$3\"; echo $$ > {}; read -r line; printf '\\x89PNG\\r\\n\\x1a\\n' > out/preview.png\n\
         echo '{{\"event\":\"previewed\",\"warnings\":[]}}'; {command}",
        pid.display()
    );
    let limits = WorkerOptions { disk_bytes: 50 << 20, memory_bytes: 250 << 20, ..deployment.options_with(&job) };
    let worker = deployment.start_worker(WorkerOptions { takes: "preview".parse().unwrap(), ..limits });
    ask(&deployment, &deployment.service, &model, 1.0).await.unwrap();
    let process = std::path::Path::new("/proc").join(std::fs::read_to_string(pid).unwrap().trim());
    let ending = async {
        while process.exists() {
            sleep(Duration::from_millis(50)).await;
        }
    };
    // An idle process that keeps its limits stays alive for longer.
    let ended = timeout(TIMEOUT / 4, ending).await;
    assert!(ended.is_ok(), "the worker does not end a job that runs {command}");
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_misbehaves_between_pictures_is_ended() {
    let commands = [
        "exec setsid -w bash -c 'for i in $(seq 300); do sleep 1000 & done; wait'",
        "exec setsid -w bash -c 'head -c 60M /dev/zero > out/large; exec sleep 1000'",
        "exec setsid -w bash -c 'dd if=/dev/zero bs=300M count=1 2> out/null | sleep 1000'",
        "echo '{\"event\":\"previewed\",\"warnings\":[]}'; exec sleep 1000",
    ];
    futures_util::future::join_all(commands.map(ends_after_a_picture)).await;
}

mod with_sqlite {
    use super::Deployment;

    #[tokio::test(flavor = "multi_thread")]
    async fn no_file_but_a_picture_comes_back() {
        Box::pin(super::no_file_but_a_picture_comes_back(Deployment::in_real_time().await)).await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_worker_that_stops_leaves_its_preview_to_another() {
        Box::pin(super::a_worker_that_stops_leaves_its_preview_to_another(Deployment::in_real_time().await)).await;
    }
}

mod with_postgres {
    use super::Deployment;

    #[tokio::test(flavor = "multi_thread")]
    async fn no_file_but_a_picture_comes_back() {
        Box::pin(super::no_file_but_a_picture_comes_back(Deployment::with_postgres_in_real_time().await)).await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_worker_that_stops_leaves_its_preview_to_another() {
        Box::pin(super::a_worker_that_stops_leaves_its_preview_to_another(
            Deployment::with_postgres_in_real_time().await,
        ))
        .await;
    }
}
