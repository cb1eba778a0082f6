//! Tests of the table of preview requests: leases, replacement, pictures and cleanup.

use std::sync::Arc;

use plinth_db::Db;
use plinth_db::previews::{self, ClaimTimes, Lease, Problem, Request, RequestKey, State};
use plinth_testkit::on_both_databases;

use crate::make;

/// Lease time of a claim in these tests, and the time for which a request is reserved for the worker that has loaded
/// its model.
const LEASE: i64 = 100;
const RESERVED: i64 = 20;

/// Builds a request of `account` in the workspace of account 1.
fn request(account: u32, model: u32, id: &str) -> Request {
    paid_by(1, account, model, id)
}

fn paid_by(payer: u32, account: u32, model: u32, id: &str) -> Request {
    Request {
        key: RequestKey {
            account_id: make::account_id(account),
            model_id: make::model_id(model),
            page_id: "page".to_owned(),
            request_id: id.to_owned(),
        },
        workspace_id: make::workspace_id(payer),
        payer_id: make::account_id(payer),
        request: format!("{{\"of\":\"{id}\"}}"),
    }
}

fn on_page(page: &str, request: Request) -> Request {
    Request { key: RequestKey { page_id: page.to_owned(), ..request.key }, ..request }
}

/// The table of preview requests, as servers and workers use it.
struct Table(Db);

impl Table {
    async fn place(&self, request: &Request, now: i64) {
        let request = request.clone();
        let inserting = self.0.write(move |tx| Box::pin(async move { previews::insert(tx, &request, now).await }));
        inserting.await.unwrap();
    }

    async fn state(&self, request: &Request, now: i64) -> State {
        previews::find_state(&mut self.0.read().await.unwrap(), &request.key, now).await.unwrap()
    }

    async fn claim(&self, worker: &'static str, now: i64) -> Option<String> {
        self.claim_for(worker, now, None).await
    }

    /// Claims a request. If `model` is set, claims only a request for this model.
    async fn claim_for(&self, worker: &'static str, now: i64, model: Option<u32>) -> Option<String> {
        let model = model.map(make::model_id);
        let claimed = self.0.write(move |tx| {
            Box::pin(async move {
                let times = ClaimTimes { now, unreserved_until: now - RESERVED, abandoned_until: now - 1000 };
                previews::claim(tx, Lease { token: worker, until: now + LEASE }, times, model.as_ref()).await
            })
        });
        claimed.await.unwrap().map(|request| request.key.request_id)
    }

    async fn renew(&self, request: &Request, worker: &'static str, until: i64) -> bool {
        let key = request.key.clone();
        let renewed = self
            .0
            .write(move |tx| Box::pin(async move { previews::renew(tx, &key, Lease { token: worker, until }).await }));
        renewed.await.unwrap()
    }

    async fn finish(&self, request: &Request, worker: &'static str, drawn: Result<&[u8], Problem>) -> bool {
        let (key, drawn) = (request.key.clone(), drawn.map(Arc::<[u8]>::from));
        let finished = self.0.write(move |tx| {
            Box::pin(async move { previews::finish(tx, &key, Lease { token: worker, until: 500 }, &drawn).await })
        });
        finished.await.unwrap()
    }

    async fn close(&self, request: &Request) {
        let key = request.key.clone();
        self.0.write(move |tx| Box::pin(async move { previews::close(tx, &key).await })).await.unwrap();
    }

    async fn end_withdrawn(&self, request: &Request, worker: &'static str, now: i64) {
        let key = request.key.clone();
        let ending =
            self.0.write(move |tx| Box::pin(async move { previews::end_withdrawn(tx, &key, worker, now).await }));
        ending.await.unwrap();
    }

    /// Returns whether a request for the model waits.
    async fn is_wanted(&self, model: u32, now: i64) -> bool {
        let times = ClaimTimes { now, unreserved_until: now - RESERVED, abandoned_until: now - 1000 };
        previews::is_model_wanted(&mut self.0.read().await.unwrap(), &make::model_id(model), times).await.unwrap()
    }

    async fn unload(&self, model: u32, worker: &'static str) -> u64 {
        let model = make::model_id(model);
        self.0.write(move |tx| Box::pin(async move { previews::unload(tx, &model, worker).await })).await.unwrap()
    }

    async fn release(&self, request: &Request, worker: &'static str) {
        let key = request.key.clone();
        self.0.write(move |tx| Box::pin(async move { previews::release(tx, &key, worker).await })).await.unwrap();
    }
}

async fn open(address: &str) -> Table {
    Table(make::open(address).await)
}

async fn a_picture_is_stored_for_the_request_and_removed_after_reading(address: &str) {
    let table = open(address).await;
    let chair = request(1, 1, "chair");
    table.place(&chair, 10).await;
    assert_eq!(table.state(&chair, 10).await, State::Waiting);
    assert_eq!(table.claim("w1", 11).await.as_deref(), Some("chair"));
    assert_eq!((table.state(&chair, 12).await, table.claim("w2", 12).await), (State::Drawing, None));
    let picture: Vec<u8> = (0..=255).cycle().take(300_000).collect();
    assert!(table.finish(&chair, "w1", Ok(&picture)).await);
    assert_eq!(table.state(&chair, 13).await, State::Drawn(Ok(picture)));
    table.close(&chair).await;
    assert_eq!(table.state(&chair, 13).await, State::Replaced, "the picture can be read once");
    let again = request(1, 1, "again");
    for problem in [Problem::OfRequest("no such mesh".to_owned()), Problem::Internal] {
        table.place(&again, 20).await;
        table.claim("w1", 20).await;
        assert!(table.finish(&again, "w1", Err(problem.clone())).await);
        assert_eq!(table.state(&again, 21).await, State::Drawn(Err(problem)));
        assert_eq!(table.claim("w1", 22).await, None, "a drawn request is not drawn again");
        table.close(&again).await;
        assert_eq!(table.state(&again, 23).await, State::Replaced);
    }
}

async fn a_request_is_left_to_the_worker_that_has_the_model_for_a_short_time(address: &str) {
    let table = open(address).await;
    let first = request(1, 1, "first");
    table.place(&first, 10).await;
    table.claim("w1", 10).await;
    table.finish(&first, "w1", Ok(b"png")).await;
    table.close(&first).await;
    table.place(&request(1, 1, "second"), 100).await;
    assert_eq!(table.claim("w2", 100 + RESERVED - 1).await, None, "w1 has the model until 500");
    assert_eq!(table.claim("w1", 100).await.as_deref(), Some("second"));
    table.finish(&request(1, 1, "second"), "w1", Ok(b"png")).await;
    table.place(&request(1, 1, "third"), 200).await;
    assert_eq!(table.claim("w2", 200 + RESERVED).await.as_deref(), Some("third"), "w1 did not take it in time");
    table.finish(&request(1, 1, "third"), "w2", Ok(b"png")).await;
    // The leases of the loaded models end at 500, so this request is not reserved.
    table.place(&request(1, 1, "fifth"), 501).await;
    assert_eq!(table.claim("w1", 501).await.as_deref(), Some("fifth"));
}

async fn people_take_turns_although_only_one_model_is_loaded(address: &str) {
    let table = open(address).await;
    let chair = request(1, 1, "chair");
    table.place(&chair, 10).await;
    table.claim("w1", 10).await;
    table.finish(&chair, "w1", Ok(b"png")).await;
    table.place(&paid_by(2, 2, 2, "stool"), 100).await;
    table.place(&request(1, 1, "again"), 101).await;
    assert_eq!(
        table.claim("w1", 102).await.as_deref(),
        Some("stool"),
        "w1 has loaded the other model, but this is older"
    );
    assert_eq!(table.claim("w1", 102).await.as_deref(), Some("again"));
}

async fn a_worker_can_claim_requests_for_one_model_only(address: &str) {
    let table = open(address).await;
    table.place(&paid_by(2, 2, 2, "stool"), 100).await;
    assert_eq!(table.claim_for("w1", 101, Some(1)).await, None);
    table.place(&request(1, 1, "chair"), 110).await;
    assert_eq!(table.claim_for("w1", 100 + RESERVED, Some(1)).await.as_deref(), Some("chair"), "the other has waited");
    assert_eq!(table.claim("w1", 100 + RESERVED).await.as_deref(), Some("stool"));
}

async fn requests_for_an_unloaded_model_are_not_reserved(address: &str) {
    let table = open(address).await;
    for (n, drawn) in [(1, Ok(&b"png"[..])), (2, Ok(&b"png"[..])), (3, Err(Problem::Internal))] {
        table.place(&paid_by(n, n, n, "first"), 10).await;
        table.claim("w1", 10).await;
        assert!(table.finish(&paid_by(n, n, n, "first"), "w1", drawn).await);
    }
    // One model has a waiting request. The results of the other models have not been read yet.
    table.place(&request(1, 1, "again"), 100).await;
    for n in [1, 2, 3] {
        table.unload(n, "w1").await;
    }
    assert_eq!(table.claim("w2", 101).await.as_deref(), Some("again"));
    for n in [2, 3] {
        table.close(&paid_by(n, n, n, "first")).await;
        table.place(&paid_by(n, n, n, "next"), 102).await;
        assert_eq!(table.claim("w2", 103).await.as_deref(), Some("next"), "{n}");
    }
}

async fn one_preview_is_drawn_per_paying_account_at_a_time(address: &str) {
    let table = open(address).await;
    for (name, account, model) in [("a", 1, 1), ("b", 3, 1), ("c", 1, 2)] {
        table.place(&request(account, model, name), 10).await;
    }
    table.place(&paid_by(2, 2, 3, "other"), 20).await;
    assert_eq!(table.claim("w1", 20).await.as_deref(), Some("a"), "equally old: in the order of account and model");
    assert_eq!(table.claim("w2", 20).await.as_deref(), Some("other"), "the other account's");
    assert_eq!(table.claim("w3", 20).await, None);
}

async fn no_other_preview_is_drawn_for_an_account_until_a_withdrawn_one_has_ended(address: &str) {
    let table = open(address).await;
    let (left, next) = (request(1, 1, "left"), request(1, 2, "next"));
    table.place(&left, 2010).await;
    assert!(table.is_wanted(1, 2010).await && !table.is_wanted(2, 2010).await);
    table.claim("w1", 2010).await;
    table.close(&left).await;
    assert!(!table.is_wanted(1, 2011).await, "nobody waits for it");
    assert!(!table.renew(&left, "w1", 2200).await, "the worker notices");
    table.place(&next, 2012).await;
    assert_eq!(table.claim("w2", 2012).await, None, "w1 still draws for the account");
    table.end_withdrawn(&left, "w2", 2013).await;
    assert_eq!(table.claim("w2", 2013).await, None, "w2 did not draw it");
    table.end_withdrawn(&left, "w1", 2014).await;
    assert_eq!(table.claim("w2", 2014).await.as_deref(), Some("next"));
    table.end_withdrawn(&next, "w2", 2015).await;
    assert_eq!(table.state(&next, 2015).await, State::Drawing, "it was not withdrawn");
    // If the worker is lost, the account gets another preview once the lease of the worker has expired.
    table.close(&next).await;
    table.place(&left, 2020).await;
    assert_eq!(table.claim("w1", 2014 + LEASE - 1).await, None);
    assert_eq!(table.claim("w1", 2014 + LEASE).await.as_deref(), Some("left"), "not the withdrawn one");
}

async fn simultaneous_claims_draw_one_preview_per_account(address: &str) {
    let table = Arc::new(open(address).await);
    for n in 1..=6 {
        table.place(&request(n, n, &format!("r{n}")), 10).await;
    }
    let claims = ["w1", "w2", "w3", "w4", "w5", "w6"].map(|worker| {
        let table = Arc::clone(&table);
        tokio::spawn(async move { table.claim(worker, 11).await })
    });
    let mut claimed = 0;
    for claim in claims {
        claimed += usize::from(claim.await.unwrap().is_some());
    }
    assert_eq!(claimed, 1);
}

async fn the_request_of_a_lost_worker_goes_to_another(address: &str) {
    let table = open(address).await;
    let chair = request(1, 1, "chair");
    table.place(&chair, 10).await;
    table.claim("w1", 10).await;
    assert!(table.renew(&chair, "w1", 150).await);
    assert_eq!(table.claim("w2", 149).await, None);
    assert_eq!(table.state(&chair, 150).await, State::Waiting);
    assert_eq!(table.claim("w2", 150).await.as_deref(), Some("chair"));
    assert!(!table.renew(&chair, "w1", 300).await && !table.finish(&chair, "w1", Ok(b"late")).await);
    table.release(&chair, "w1").await;
    assert_eq!(table.state(&chair, 151).await, State::Drawing, "w1 has nothing to release");
    table.release(&chair, "w2").await;
    assert_eq!(table.claim("w3", 152).await.as_deref(), Some("chair"), "a worker that stops leaves it to the others");
}

async fn a_newer_request_replaces_the_one_before(address: &str) {
    let table = open(address).await;
    let (old, new) = (request(1, 1, "old"), request(1, 1, "new"));
    table.place(&old, 10).await;
    table.claim("w1", 10).await;
    table.place(&new, 11).await;
    assert_eq!((table.state(&old, 11).await, table.state(&new, 11).await), (State::Replaced, State::Waiting));
    assert!(!table.renew(&old, "w1", 200).await && !table.finish(&old, "w1", Ok(b"old")).await);
    assert_eq!(table.claim("w2", 12).await, None, "w1 has the model");
    assert_eq!(table.claim("w1", 12).await.as_deref(), Some("new"));
    table.close(&old).await;
    assert_eq!(table.state(&new, 13).await, State::Drawing, "withdrawing the old one does not concern the new one");
    table.close(&new).await;
    assert!(!table.finish(&new, "w1", Ok(b"png")).await, "withdrawn");
}

async fn requests_of_two_pages_of_an_account_do_not_replace_each_other(address: &str) {
    let table = open(address).await;
    let (left, right) = (request(1, 1, "left"), on_page("other", request(1, 1, "right")));
    table.place(&left, 10).await;
    table.place(&right, 11).await;
    assert_eq!((table.state(&left, 11).await, table.state(&right, 11).await), (State::Waiting, State::Waiting));
    assert_eq!(table.claim("w1", 12).await.as_deref(), Some("left"));
    assert!(table.finish(&left, "w1", Ok(b"left")).await);
    assert_eq!(table.claim("w1", 13).await.as_deref(), Some("right"));
    assert!(table.finish(&right, "w1", Ok(b"right")).await);
    assert_eq!(table.state(&left, 14).await, State::Drawn(Ok(b"left".to_vec())));
    table.close(&left).await;
    assert_eq!(table.state(&right, 14).await, State::Drawn(Ok(b"right".to_vec())));
    // The request of a third page is reserved for the worker that has already loaded the model.
    table.place(&on_page("third", request(1, 1, "third")), 100).await;
    assert_eq!(table.claim("w2", 100 + RESERVED - 1).await, None);
    assert_eq!(table.claim("w1", 100).await.as_deref(), Some("third"));
}

async fn rows_of_ended_previews_are_deleted(address: &str) {
    let table = open(address).await;
    for (n, worker) in [(1, "w1"), (2, "w2"), (3, "w1")] {
        let one = paid_by(n, n, 1, &format!("r{n}"));
        table.place(&one, 10).await;
        table.claim(worker, 10).await;
        table.finish(&one, worker, Ok(b"png")).await;
        if n != 3 {
            table.close(&one).await;
        }
    }
    assert_eq!(table.unload(1, "w1").await, 1, "not the row of the other worker, and not the unread picture");
    let delete = |before| table.0.write(move |tx| Box::pin(previews::delete_before(tx, before)));
    assert_eq!(delete(9).await.unwrap(), 0);
    assert_eq!(delete(10).await.unwrap(), 2);
    // A request counts as abandoned after 1000 ms, and cannot be claimed any more.
    table.place(&request(1, 1, "old"), 10).await;
    assert_eq!(table.claim("w1", 1010).await, None);
    assert_eq!(table.claim("w1", 1009).await.as_deref(), Some("old"));
    let leased = async |now| previews::is_any_leased(&mut table.0.read().await.unwrap(), now).await.unwrap();
    assert!(leased(1009 + LEASE - 1).await && !leased(1009 + LEASE).await);
}

#[tokio::test]
async fn the_table_is_unlogged_on_postgresql() {
    let database = plinth_testkit::TestDatabase::postgres();
    drop(make::open(database.address()).await);
    let mut psql = std::process::Command::new(plinth_testkit::postgres().join("psql"));
    let query = "SELECT relpersistence FROM pg_class WHERE relname = 'page_previews'";
    let done = psql.args(["-X", "-A", "-t", "-d", database.address(), "-c", query]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&done.stdout).trim(), "u");
}

async fn the_oldest_request_comes_first_whatever_its_account_has_used(address: &str) {
    let table = Table(make::open(address).await);
    for (n, payer) in [(2, 2), (3, 3), (4, 4)] {
        table.place(&paid_by(payer, payer, n, ["", "", "two", "three", "four"][n as usize]), i64::from(n)).await;
    }
    let charging = table.0.write(|tx| {
        Box::pin(async move {
            for (account, used_ms) in [(2, 60_000), (3, 5_000)] {
                make::tenant(tx, account).await?;
                plinth_db::queue::charge_preview(tx, &make::account_id(account), used_ms, 1).await?;
            }
            Ok::<_, plinth_db::DbError>(())
        })
    });
    charging.await.unwrap();
    let mut order = Vec::new();
    while let Some(id) = table.claim("worker", 10).await {
        order.push(id);
    }
    assert_eq!(order, ["two", "three", "four"]);
}

mod both {
    use super::on_both_databases;
    on_both_databases! {
        the_oldest_request_comes_first_whatever_its_account_has_used
        a_picture_is_stored_for_the_request_and_removed_after_reading
        a_request_is_left_to_the_worker_that_has_the_model_for_a_short_time
        people_take_turns_although_only_one_model_is_loaded
        a_worker_can_claim_requests_for_one_model_only
        requests_for_an_unloaded_model_are_not_reserved
        one_preview_is_drawn_per_paying_account_at_a_time
        no_other_preview_is_drawn_for_an_account_until_a_withdrawn_one_has_ended
        simultaneous_claims_draw_one_preview_per_account
        the_request_of_a_lost_worker_goes_to_another
        a_newer_request_replaces_the_one_before
        requests_of_two_pages_of_an_account_do_not_replace_each_other
        rows_of_ended_previews_are_deleted
    }
}
