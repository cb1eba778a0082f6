//! Benchmarks a paid render while ten users rotate models in previews. `bench/previews.sh render` runs it.
#![expect(clippy::print_stdout, reason = "a benchmark prints its results")]

use std::sync::Mutex;
use std::time::{Duration, Instant};

use plinth_testkit::glb_with_sphere;
use serde_json::json;
use tokio::time::sleep;

use super::preview_speed::{PEOPLE, people, time, until_quiet, upload, with_worker};
use super::server::Served;
use super::studio_previews::{Composer, Worker};

/// Length of the videos, in seconds.
const LENGTH: u32 = 2;
/// Time for which users rotate models in previews while there is no render.
const WITHOUT_RENDER: Duration = Duration::from_secs(10);

/// Times of a render, measured from its order.
#[derive(Clone, Copy)]
struct Times {
    /// Time until a worker has claimed the render.
    claimed: Duration,
    /// Time until the render reports its first progress.
    begun: Duration,
    /// Time until the render is done.
    done: Duration,
}

/// Orders a video and waits for it.
async fn order(served: &Served, model: &str, turn: u32) -> Times {
    let begin = Instant::now();
    let settings = json!({"quality": "share", "length": LENGTH, "rotateY": turn, "output": "video"});
    let ordered = served.client.post("/renders", json!({"modelId": model, "renderSettings": settings})).await;
    let render = ordered.text("id");
    let (mut claimed, mut begun) = (None, None);
    loop {
        let found = served.client.get(&format!("/renders/{render}")).await.body["data"].clone();
        let status = found["status"].as_str().unwrap().to_owned();
        assert_ne!(status, "error", "{found}");
        if status != "pending" {
            claimed.get_or_insert(begin.elapsed());
        }
        if found["progress"].as_f64().is_some_and(|progress| progress > 0.0) {
            begun.get_or_insert(begin.elapsed());
        }
        if status == "done" {
            return Times { claimed: claimed.unwrap(), begun: begun.unwrap(), done: begin.elapsed() };
        }
        sleep(Duration::from_millis(10)).await;
    }
}

/// Requests previews of rotating models until `work` is done. Returns the result of `work` and the time of each
/// preview.
async fn while_turning<T>(composers: &[Composer], work: impl Future<Output = T>) -> (T, Vec<Duration>) {
    let pictures = Mutex::new(Vec::new());
    let turning = composers.iter().map(async |composer| {
        for n in 0_u32.. {
            let took = time(composer, "640", "rotateY", f64::from(n % 36) * 5.0).await;
            pictures.lock().unwrap().push(took);
        }
    });
    let done = tokio::select! {
        done = work => done,
        _never = futures_util::future::join_all(turning) => unreachable!("people turn models for ever"),
    };
    (done, pictures.into_inner().unwrap())
}

fn print(name: &str, times: Times) {
    let Times { claimed, begun, done } = times;
    println!("  {name}: claimed after {claimed:.2?}, first frames after {begun:.2?}, done after {done:.2?}");
}

fn print_pictures(name: &str, pictures: &mut [Duration], during: Duration) {
    pictures.sort_unstable();
    let median = pictures.get(pictures.len() / 2).copied().unwrap_or_default();
    let each = during.checked_div(u32::try_from(pictures.len()).unwrap()).unwrap_or_default();
    println!("  {name}: {} pictures, one each {each:.2?}; a person waits {median:.2?} for one", pictures.len());
}

async fn measure(name: &str, served: Served, worker: Option<Worker>) {
    println!("{name}");
    let model = upload(&served.client, "sphere", &glb_with_sphere(80)).await;
    let composers = people(&served, true).await;
    until_quiet(&served.client).await;
    // The first render also starts the process that draws the later ones. Each render has a different rotation, because
    // an identical request would return the existing render.
    order(&served, &model, 6).await;
    print("a render alone", order(&served, &model, 1).await);
    let ((), mut pictures) = while_turning(&composers, sleep(WITHOUT_RENDER)).await;
    print_pictures(&format!("{PEOPLE} people alone"), &mut pictures, WITHOUT_RENDER);
    let both = async {
        // In this time, the worker loads all models.
        sleep(WITHOUT_RENDER).await;
        order(&served, &model, 2).await
    };
    let (times, _pictures) = while_turning(&composers, both).await;
    print(&format!("the render beside {PEOPLE} people"), times);
    let (times, mut pictures) = while_turning(&composers, order(&served, &model, 3)).await;
    print("another one", times);
    print_pictures("their pictures meanwhile", &mut pictures, times.done);
    let (times, mut pictures) = while_turning(&composers[..1], order(&served, &model, 4)).await;
    print("the render beside one person", times);
    print_pictures("their pictures meanwhile", &mut pictures, times.done);
    drop(worker);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "a benchmark: bench/previews.sh"]
async fn a_render_beside_previews_in_the_process_of_the_server() {
    measure("SQLite, a worker in the server's process", with_worker(Served::with_sqlite()), None).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "a benchmark: bench/previews.sh"]
async fn a_render_beside_previews_of_another_process_on_postgres() {
    let served = Served::with_postgres_and_s3().await;
    let worker = Worker::start(&served, &[]);
    measure("PostgreSQL, a worker in another process", served, Some(worker)).await;
}
