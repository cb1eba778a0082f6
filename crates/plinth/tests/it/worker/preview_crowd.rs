//! Tests of a worker that many users ask for previews. The jobs are scripts that sleep instead of loading and drawing.

use std::sync::Mutex;

use plinth_service::Service;
use plinth_service::access::Caller;
use plinth_service::previews::Preview;
use plinth_worker::WorkerOptions;
use serde_json::json;
use tokio::time::timeout;

use super::deployment::{Deployment, TIMEOUT};
use super::previews::{server, tiny_draft};

const PEOPLE: usize = 10;
const PICTURES: usize = 6;

/// Returns options of a worker whose preview processes take 0.4 s to load a model and 0.02 s to draw a picture. Each
/// process adds a line to the file `loads`, and uses `memory_mb` MB of memory.
fn options(deployment: &Deployment, memory_mb: u32) -> WorkerOptions {
    let job = format!(
        "if ! grep -q '\"preview\"' \"$3/job.json\"; then exec \"$@\"; fi\n\
         # dd has read everything and waits for a reader.\n\
         cd \"$3\"; echo loads >> {}; dd if=/dev/zero bs={memory_mb}M count=1 2> out/null | sleep 1000 &\n\
         sleep 0.4\n\
         while read -r line; do sleep 0.02; printf '\\x89PNG\\r\\n\\x1a\\n' > out/preview.png; \
         echo '{{\"event\":\"previewed\",\"warnings\":[]}}'; done",
        deployment.folder.path().join("loads").display()
    );
    WorkerOptions { takes: "preview".parse().unwrap(), ..deployment.options_with(&job) }
}

fn loads(deployment: &Deployment) -> usize {
    std::fs::read_to_string(deployment.folder.path().join("loads")).unwrap_or_default().lines().count()
}

async fn draw(service: &Service, caller: &Caller, model: &str, picture: usize) {
    let settings = json!({"rotateY": picture}).as_object().unwrap().clone();
    let preview = Preview { settings, options: tiny_draft(), ..Preview::default() };
    timeout(TIMEOUT, service.preview(caller, model, preview)).await.unwrap().unwrap();
}

/// Simulates users who ask for pictures at the same time. Each user asks for pictures of one model, one after another.
/// Returns the user of each picture, in the order in which the pictures were drawn.
async fn crowd(deployment: &Deployment, service: &Service, people: usize) -> Vec<usize> {
    let mut callers = Vec::new();
    for n in 0..people {
        let caller = deployment.caller_of(&format!("person{n}@example.org")).await;
        let model = deployment.upload_of(&caller, &format!("model{n}")).await;
        callers.push((caller, model));
    }
    let drawn = Mutex::new(Vec::new());
    let asking = callers.iter().enumerate().map(async |(n, (caller, model))| {
        for picture in 0..PICTURES {
            draw(service, caller, model, picture).await;
            drawn.lock().unwrap().push(n);
        }
    });
    futures_util::future::join_all(asking).await;
    drawn.into_inner().unwrap()
}

/// Starts a worker, and returns the service that asks it for previews. If `is_elsewhere`, this is a second service, as
/// if the worker ran in another process.
async fn with_worker(deployment: &Deployment, is_elsewhere: bool, options: WorkerOptions) -> Service {
    // The worker ends with the test.
    let _worker = deployment.start_worker(options);
    let service = if is_elsewhere { server(deployment).await } else { deployment.service.clone() };
    let (caller, model) = (&deployment.caller, deployment.upload("warm", None).await.0);
    draw(&service, caller, &model, 0).await;
    service
}

async fn ten_people_are_served_evenly(deployment: Deployment, is_elsewhere: bool) {
    let service = with_worker(&deployment, is_elsewhere, options(&deployment, 1)).await;
    let drawn = crowd(&deployment, &service, PEOPLE).await;
    assert_eq!(loads(&deployment), 1 + PEOPLE, "all models fit in memory, so each is loaded once");
    let pictures_of = |person| drawn.iter().enumerate().filter(move |(_, of)| **of == person).map(|(at, _)| at + 1);
    let first_to_finish = (0..PEOPLE).filter_map(|person| pictures_of(person).max()).min().unwrap();
    assert!(first_to_finish * 13 >= drawn.len() * 10, "the last takes at most 1.3 times as long: {drawn:?}");
}

async fn a_model_stays_for_some_pictures_if_loading_it_ended_another(deployment: Deployment, is_elsewhere: bool) {
    const FEW: usize = 4;
    // Two loaded models use more than a quarter of a job's memory limit.
    let options = WorkerOptions { memory_bytes: 1 << 30, ..options(&deployment, 150) };
    let service = with_worker(&deployment, is_elsewhere, options).await;
    let drawn = crowd(&deployment, &service, FEW).await;
    let loads = loads(&deployment) - 1;
    assert!((FEW..=FEW * PICTURES / 2).contains(&loads), "{loads} loads: {drawn:?}");
    // The turn of a user lasts as long as loading a model, in which about twenty pictures can be drawn. So users are
    // served one after the other, and no user gets a second turn before all others had one.
    let firsts: Vec<usize> = (0..FEW).filter_map(|person| drawn.iter().position(|of| *of == person)).collect();
    assert!(firsts.iter().all(|first| *first <= (FEW - 1) * PICTURES), "{drawn:?}");
}

on_each_worker! {
    here: in_real_time, false, [
        ten_people_are_served_evenly
        a_model_stays_for_some_pictures_if_loading_it_ended_another
    ];
    with_sqlite: in_real_time, true, [
        ten_people_are_served_evenly
        a_model_stays_for_some_pictures_if_loading_it_ended_another
    ];
    with_postgres: with_postgres_in_real_time, true, [
        ten_people_are_served_evenly
        a_model_stays_for_some_pictures_if_loading_it_ended_another
    ];
}
