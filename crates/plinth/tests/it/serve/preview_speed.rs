//! A benchmark of previews, which `bench/previews.sh` runs. The machine must be idle otherwise.
#![expect(clippy::print_stdout, reason = "a benchmark prints its results")]

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use plinth_testkit::{Client, Form, glb_with_sphere};
use tokio::time::sleep;

use super::server::{EMAIL, Served};
use super::studio_previews::{Composer, Worker};
use crate::processes_in;

/// Number of rows of the test sphere, which has 102 400 triangles.
const ROWS: u16 = 160;
/// Number of pictures in each series of measurements.
const PICTURES: u32 = 60;
pub(super) const PEOPLE: usize = 10;
const PICTURES_EACH: u32 = 6;
/// Time for which each person requests one picture after another.
const CROWD: Duration = Duration::from_secs(20);
/// Time over which the CPU time of the idle processes is measured.
const IDLE: Duration = Duration::from_secs(20);

/// Restarts the server of an installation, with a worker in its process.
pub(super) fn with_worker(served: Served) -> Served {
    let Served { client, server, installation } = served;
    server.end();
    let server = installation.serve(&["--rate-limit-per-minute", "1000000"]);
    Served { client: Client::new(&server.base, &client.token), server, installation }
}

pub(super) async fn upload(client: &Client, name: &str, glb: &[u8]) -> String {
    client.form("/models", Form::default().file("file", &format!("{name}.glb"), glb)).await.text("modelId")
}

/// Asks for a preview with a setting and returns how long it took.
pub(super) async fn time(composer: &Composer, longest: &str, setting: &str, value: f64) -> Duration {
    let (value, begin) = (value.to_string(), Instant::now());
    let draft = if longest == "640" { "on" } else { "" };
    let fields = [("longest", longest), ("draft", draft), (setting, value.as_str()), ("shadows", "on")];
    let (status, body) = composer.ask(&fields).await;
    assert_eq!(status, 200, "{}", String::from_utf8_lossy(&body));
    begin.elapsed()
}

fn print(name: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let at = |percent: usize| times[(times.len() - 1) * percent / 100].as_millis();
    let rate = times.len() as f64 / times.iter().sum::<Duration>().as_secs_f64();
    println!("{name}: p50 {} ms, p95 {} ms, {rate:.1} pictures a second", at(50), at(95));
}

async fn series(served: &Served, composer: &Composer, name: &str, setting: &str, value: impl Fn(u32) -> f64) {
    let before = processor_secs(served);
    let mut times = Vec::new();
    for n in 0..PICTURES {
        times.push(time(composer, "640", setting, value(n)).await);
    }
    print(name, times);
    let used = processor_secs_since(served, &before) / f64::from(PICTURES);
    println!("    processor time: {:.0} ms for each", used * 1000.0);
}

/// Returns the processor time of each process of the installation in seconds, by the identifier of the process.
fn processor_secs(served: &Served) -> BTreeMap<u32, f64> {
    let ids = processes_in(served.installation.folder.path()).into_keys();
    let times = ids.filter_map(|id| {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        let rest: Vec<i64> = stat.rsplit(')').next()?.split_whitespace().filter_map(|part| part.parse().ok()).collect();
        // `rest` begins with field 4 of proc(5), because field 3 is not a number. These two are fields 14 and 15.
        Some((id, (rest.get(10)? + rest.get(11)?) as f64 / 100.0))
    });
    times.collect()
}

/// Returns the processor time in seconds that the processes have used since `before`. Processes that have ended in the
/// meantime are not counted.
fn processor_secs_since(served: &Served, before: &BTreeMap<u32, f64>) -> f64 {
    processor_secs(served).iter().map(|(id, secs)| secs - before.get(id).unwrap_or(&0.0)).sum()
}

/// Creates ten accounts, each with its own model, and returns their composers. If `draws_videos` is true, a worker
/// renders the free previews of the models, and the function waits until they have ended.
pub(super) async fn people(served: &Served, draws_videos: bool) -> Vec<Composer> {
    let people = (0..PEOPLE).map(async |n| {
        let email = format!("person{n}@example.org");
        let client = served.client(&served.installation.account(&email));
        let model = upload(&client, &email, &plinth_testkit::glb_with_triangle(&email)).await;
        if draws_videos {
            until_quiet(&client).await;
        }
        Composer::open(served, &email, &model).await
    });
    futures_util::future::join_all(people).await
}

/// Measures ten people who request pictures at the same time: first a few each, then as many as possible in [`CROWD`].
async fn crowd(served: &Served, draws_videos: bool) {
    let composers = people(served, draws_videos).await;
    let times = composers.iter().map(async |composer| {
        let mut times = Vec::new();
        for n in 0..PICTURES_EACH {
            times.push(time(composer, "640", "rotateY", f64::from(n) * 5.0).await);
        }
        times
    });
    let times = futures_util::future::join_all(times).await;
    let mut sums: Vec<u128> = times.iter().map(|of_one| of_one.iter().sum::<Duration>().as_millis()).collect();
    sums.sort_unstable();
    println!("  {PEOPLE} people, {PICTURES_EACH} pictures each: {sums:?} ms in total per person");
    print("  their pictures", times.concat());
    let begin = Instant::now();
    let times = composers.iter().map(async |composer| {
        let mut times = Vec::new();
        while begin.elapsed() < CROWD {
            times.push(time(composer, "640", "rotateY", times.len() as f64 % 36.0 * 5.0).await);
        }
        times
    });
    let times = futures_util::future::join_all(times).await;
    let mut counts: Vec<usize> = times.iter().map(Vec::len).collect();
    counts.sort_unstable();
    let longest = times.iter().flatten().max().unwrap();
    println!("  in {CROWD:?}: {counts:?} pictures per person, the longest wait {longest:.2?}");
}

/// Waits until all renders of the workspace have ended, for example the free videos of uploads.
pub(super) async fn until_quiet(client: &Client) {
    while client.get("/renders").await.body["data"]
        .as_array()
        .into_iter()
        .flatten()
        .any(|render| !matches!(render["status"].as_str(), Some("done" | "failed")))
    {
        sleep(Duration::from_millis(200)).await;
    }
}

async fn measure(name: &str, served: Served, worker: Option<Worker>) {
    println!("{name}");
    let small = Composer::open(&served, EMAIL, &upload(&served.client, "small", &glb_with_sphere(8)).await).await;
    small.draw(&[("longest", "320")]).await;
    let model = upload(&served.client, "sphere", &glb_with_sphere(ROWS)).await;
    if worker.is_none() {
        until_quiet(&served.client).await;
    }
    let composer = Composer::open(&served, EMAIL, &model).await;
    println!("  first draft, the model is not loaded: {:?}", time(&composer, "640", "rotateY", 0.0).await);
    println!("  full picture: {:?}", time(&composer, "1280", "rotateY", 0.0).await);
    println!("  opened again: {:?}", time(&composer, "640", "rotateY", 0.0).await);
    series(&served, &composer, "  a camera setting (orbit)", "rotateY", |n| f64::from(n) * 3.0).await;
    series(&served, &composer, "  a setting of the picture", "vignette", |n| f64::from(n % 10) / 10.0).await;
    series(&served, &composer, "  a setting of the light", "envRotation", |n| f64::from(n) * 5.0 - 150.0).await;
    let (before, begin) = (processor_secs(&served), Instant::now());
    sleep(IDLE).await;
    let used = processor_secs_since(&served, &before) / begin.elapsed().as_secs_f64() * 100.0;
    println!("  idle, with the model loaded: {used:.2} % of one processor");
    crowd(&served, worker.is_none()).await;
    drop(worker);
}

/// Measures the requests of ten people if the memory suffices only for the two models that are always kept loaded.
async fn measure_scarce(name: &str, served: Served, worker: Option<Worker>) {
    println!("{name}, memory for two models");
    until_quiet(&served.client).await;
    crowd(&served, worker.is_none()).await;
    drop(worker);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "a benchmark: bench/previews.sh"]
async fn previews_in_the_process_of_the_server() {
    measure("SQLite, a worker in the server's process", with_worker(Served::with_sqlite()), None).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "a benchmark: bench/previews.sh"]
async fn previews_of_another_process_on_postgres() {
    let served = Served::with_postgres_and_s3().await;
    let worker = Worker::start(&served, &["--takes", "preview"]);
    measure("PostgreSQL, a worker in another process", served, Some(worker)).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "a benchmark: bench/previews.sh"]
async fn previews_of_another_process_on_sqlite() {
    let served = Served::with_sqlite();
    let worker = Worker::start(&served, &["--takes", "preview"]);
    measure("SQLite, a worker in another process", served, Some(worker)).await;
}

const SCARCE: [&str; 2] = ["--render-memory-mb", "600"];

#[tokio::test(flavor = "multi_thread")]
#[ignore = "a benchmark: bench/previews.sh"]
async fn scarce_memory_in_the_process_of_the_server() {
    let Served { client, server, installation } = Served::with_sqlite();
    server.end();
    let server = installation.serve(&[&["--rate-limit-per-minute", "1000000"], &SCARCE[..]].concat());
    let served = Served { client: Client::new(&server.base, &client.token), server, installation };
    measure_scarce("SQLite, a worker in the server's process", served, None).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "a benchmark: bench/previews.sh"]
async fn scarce_memory_in_another_process_on_postgres() {
    let served = Served::with_postgres_and_s3().await;
    let worker = Worker::start(&served, &[&["--takes", "preview"], &SCARCE[..]].concat());
    measure_scarce("PostgreSQL, a worker in another process", served, Some(worker)).await;
}
