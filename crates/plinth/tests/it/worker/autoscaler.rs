//! Tests of the query with which the autoscaler of the Helm chart counts the work of a pool, on the real tables.

use std::process::Command;

use plinth_service::jobs::{RenderFiles, Worker};
use plinth_spec::quality::Codec;
use plinth_testkit::postgres;
use serde_json::json;

use super::deployment::Deployment;

/// The golden manifests of two pools. The pool `cpu` takes share and standard. The pool `gpu` takes everything except
/// share, and has at most 8 slots.
const MANIFESTS: &str = include_str!("../../../../../deploy/helm/golden/gpu.yaml");

/// Returns the result of the chart's query for a pool.
pub(crate) fn count_work(pool: &str, database: &str) -> u32 {
    let lines = MANIFESTS.lines().filter_map(|line| line.trim().strip_prefix("query: "));
    let mut queries = lines.map(|text| serde_json::from_str::<String>(text).unwrap());
    let query = queries.find(|query| query.contains(&format!("worker_pool = '{pool}'"))).unwrap();
    select(database, &query).trim().parse().unwrap()
}

/// Runs a query with psql and returns what it prints.
pub(crate) fn select(database: &str, query: &str) -> String {
    let mut psql = Command::new(postgres().join("psql"));
    psql.args(["-X", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", database, "-c", query]);
    let done = psql.output().unwrap();
    assert!(done.status.success(), "{}", crate::text(&done.stderr));
    crate::text(&done.stdout)
}

/// Returns the results of the chart's queries for the two pools: `[cpu, gpu]`.
fn counted(deployment: &Deployment) -> [u32; 2] {
    ["cpu", "gpu"].map(|pool| count_work(pool, deployment.database.address()))
}

fn worker(pool: &str, takes: &str) -> Worker {
    Worker { name: "w".to_owned(), pool: pool.to_owned(), takes: takes.parse().unwrap() }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pool_needs_slots_for_queued_renders_that_it_takes_and_for_running_renders() {
    let deployment = Deployment::with_postgres_and_s3().await;
    assert_eq!(counted(&deployment), [0, 0]);
    let share = json!({"quality": "share", "length": 1});
    let (model, _render) = deployment.upload("chair", Some(share.clone())).await;
    deployment.render_again(&model, share, "again").await;
    assert_eq!(counted(&deployment), [1, 0], "renders with equal frames are one job");
    deployment.upload("table", Some(json!({"quality": "standard", "length": 1}))).await;
    assert_eq!(counted(&deployment), [2, 1], "both pools may take the standard render");
    let claims = deployment.service.claim_renders(worker("gpu", "standard,4k,pro,dataset"), 16).await.unwrap();
    assert_eq!(
        (claims.len(), counted(&deployment)),
        (1, [1, 1]),
        "the claimed render still counts for its pool, so that its worker is not removed"
    );
    let group = deployment.service.claim_renders(worker("cpu", "share,standard"), 16).await.unwrap();
    assert_eq!((group.len(), counted(&deployment)), (2, [1, 1]), "a group of renders needs one slot");
    deployment.service.poster_stored(&claims[0]).await.unwrap().unwrap();
    deployment.service.finish_render(&claims[0], &RenderFiles::none(Codec::H264), &[]).await.unwrap().unwrap();
    assert_eq!(counted(&deployment), [2, 1], "the packaging of the render is queued for both pools");
    deployment.service.claim_packaging(worker("cpu", "share,standard")).await.unwrap().unwrap();
    assert_eq!(counted(&deployment), [2, 0]);
    for name in 0..9 {
        deployment.upload(&format!("many {name}"), Some(json!({"quality": "standard", "length": 1}))).await;
    }
    assert_eq!(counted(&deployment), [11, 8], "the result is at most the number of slots that the pool may have");
}
