//! Property tests. After any sequence of actions, each balance is the sum of its ledger entries, and no render was
//! charged or refunded twice.

use plinth_db::ledger;
use plinth_service::jobs::Claim;
use plinth_spec::FailureCode;
use plinth_spec::funding::Pool;
use plinth_spec::state::RenderStatus;
use plinth_spec::wire::LedgerType;
use plinth_testkit::TestDatabase;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::json;

use crate::test_service::{self, TestService, some_files};

/// An action of a user, a worker or the clock.
#[derive(Clone, Debug)]
enum Step {
    Create { length: u8, key: Option<u8>, strict: bool },
    Cancel(usize),
    Claim(usize),
    Poster(usize),
    Finish(usize),
    Fail(usize, usize),
    Release(usize),
    Delete(usize),
    Dismiss(usize),
    Wait(u32),
    ReclaimLeases,
    Grant(bool, i8),
}

fn step() -> impl Strategy<Value = Step> {
    let which = 0usize..8;
    prop_oneof![
        4 => (1u8..20, prop::option::of(0u8..3), any::<bool>())
            .prop_map(|(length, key, strict)| Step::Create { length, key, strict }),
        2 => which.clone().prop_map(Step::Cancel),
        3 => (1usize..3).prop_map(Step::Claim),
        2 => which.clone().prop_map(Step::Poster),
        2 => which.clone().prop_map(Step::Finish),
        2 => (which.clone(), 0..FailureCode::ALL.len()).prop_map(|(at, code)| Step::Fail(at, code)),
        1 => which.clone().prop_map(Step::Release),
        1 => which.clone().prop_map(Step::Delete),
        1 => which.prop_map(Step::Dismiss),
        1 => (0u32..100_000).prop_map(Step::Wait),
        1 => Just(Step::ReclaimLeases),
        1 => (any::<bool>(), any::<i8>()).prop_map(|(paid, credits)| Step::Grant(paid, credits)),
    ]
}

struct Run<'a> {
    test_service: &'a TestService,
    model: String,
    renders: Vec<String>,
    claims: Vec<Claim>,
}

impl Run<'_> {
    /// Performs a step. The service may reject the step, but must not return an internal error.
    async fn step(&mut self, step: Step) {
        let (service, caller) = (&self.test_service.service, &self.test_service.caller);
        let render = |at: usize| self.renders.get(at % self.renders.len().max(1)).cloned().unwrap_or_default();
        let claim = |at: usize| self.claims.get(at % self.claims.len().max(1)).cloned();
        let internal = match step {
            Step::Create { length, key, strict } => {
                let settings = json!({"quality": "share", "length": length, "strictCredits": strict});
                let key = key.map(|key| key.to_string());
                match self.test_service.render(&self.model, settings, key.as_deref()).await {
                    Ok(created) => {
                        self.renders.push(created.id.to_string());
                        None
                    }
                    Err(error) => Some(error),
                }
            }
            Step::Cancel(at) => service.cancel_render(caller, &render(at)).await.err(),
            Step::Delete(at) => service.delete_render(caller, &render(at)).await.err(),
            Step::Dismiss(at) => service.dismiss_render(caller, &render(at)).await.err(),
            Step::Claim(most) => {
                self.claims.extend(service.claim_renders("w", most).await.unwrap());
                None
            }
            // Repeated reports, and reports in the wrong order, must not change balances.
            Step::Poster(at) => {
                if let Some(claim) = claim(at) {
                    let _out_of_order = service.poster_stored(&claim).await;
                }
                None
            }
            Step::Finish(at) => {
                if let Some(claim) = claim(at) {
                    let _out_of_order = service.finish_render(&claim, &some_files(), &[]).await;
                }
                None
            }
            Step::Release(at) => {
                if let Some(claim) = claim(at) {
                    let _out_of_order = service.release_render(&claim).await;
                }
                None
            }
            Step::Fail(at, code) => match claim(at) {
                Some(claim) => service.fail_render(&claim, FailureCode::ALL[code], "because").await.err(),
                None => None,
            },
            Step::Wait(ms) => {
                self.test_service.wait_ms(i64::from(ms));
                None
            }
            Step::ReclaimLeases => service.reclaim_expired_leases().await.err(),
            Step::Grant(paid, credits) => {
                let pool = if paid { Pool::Paid } else { Pool::Free };
                test_service::grant(service, test_service::EMAIL, pool, i64::from(credits)).await.err()
            }
        };
        if let Some(error) = internal {
            assert_ne!(error.code, plinth_spec::ErrorCode::Internal, "{error:?}");
        }
    }

    async fn check(&self) {
        self.test_service.assert_balanced().await;
        let mut conn = self.test_service.service.db().read().await.unwrap();
        let entries = ledger::list(&mut conn, &self.test_service.caller.payer_id, None, 10_000, 0).await.unwrap();
        drop(conn);
        for id in &self.renders {
            let of = |kind: LedgerType| {
                let mine = entries.iter().filter(|e| e.render_id.as_ref().is_some_and(|r| r.as_str() == id));
                mine.filter(|e| e.kind == kind).map(|e| e.credits).collect::<Vec<_>>()
            };
            let (charged, refunded) = (of(LedgerType::Render), of(LedgerType::Refund));
            assert_eq!(charged.len(), 1, "charged once");
            assert!(refunded.is_empty() || refunded == [-charged[0]], "a render is refunded at most once, and in full");
            let Ok(render) = self.test_service.service.render(&self.test_service.caller, id).await else { continue };
            let is_refunded = match render.status {
                RenderStatus::Error => render.failure_code != Some(FailureCode::RendererError),
                RenderStatus::Failed => !refunded.is_empty(),
                _ => false,
            };
            assert_eq!(!refunded.is_empty(), is_refunded, "{render:?}");
        }
    }
}

fn whatever_happens(database: &TestDatabase, cases: u32) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let test_service = runtime.block_on(TestService::new(database.address()));
    let model = runtime.block_on(test_service.model("chair"));
    let config = ProptestConfig { cases, max_shrink_iters: 0, failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = TestRunner::new(config);
    let result = runner.run(&prop::collection::vec(step(), 1..60), |steps| {
        runtime.block_on(async {
            let mut run =
                Run { test_service: &test_service, model: model.clone(), renders: Vec::new(), claims: Vec::new() };
            for step in steps {
                run.step(step).await;
            }
            run.check().await;
            test_service.wait_ms(3_600_000);
        });
        Ok(())
    });
    result.unwrap();
}

#[test]
fn balances_are_sums_and_no_refund_happens_twice_on_sqlite() {
    whatever_happens(&TestDatabase::sqlite(), 40);
}

#[test]
fn balances_are_sums_and_no_refund_happens_twice_on_postgres() {
    whatever_happens(&TestDatabase::postgres(), 20);
}
