//! Tests of the credit packs on sale, and of statements.

use std::collections::BTreeSet;

use plinth_db::ledger::{self, NewEntry, Posted};
use plinth_service::billing::StripeOptions;
use plinth_spec::funding::Pool;
use plinth_spec::id::EntryId;
use plinth_spec::wire::{LedgerType, Product};
use plinth_spec::{ErrorCode, PurchaseStatus};
use plinth_testkit::on_both_databases;

use crate::test_service::{START, TestService, code};

/// Opens a service that sells a pack of credits. Its payment provider cannot be reached.
pub(crate) async fn shop(address: &str) -> TestService {
    let stripe = StripeOptions {
        secret_key: "sk_test_1".to_owned(),
        webhook_secrets: vec!["whsec_test".to_owned()],
        url: "http://127.0.0.1:1".parse().unwrap(),
    };
    let test_service = TestService::with(address, |options| options.stripe = Some(stripe)).await;
    test_service.service.set_products(vec![pack("small", 500, 900)]).await.unwrap();
    test_service
}

pub(crate) fn pack(id: &str, credits: u64, price_cents: u64) -> Product {
    Product {
        id: id.to_owned(),
        name: format!("{credits} credits"),
        credits,
        price_cents,
        currency: "usd".to_owned(),
        stripe_price_id: format!("price_{id}"),
    }
}

async fn only_the_configured_packs_are_sold(address: &str) {
    let test_service = TestService::new(address).await;
    let service = &test_service.service;
    let (small, large) = (pack("small", 500, 900), pack("large", 5000, 7900));
    service.set_products(vec![large, small.clone()]).await.unwrap();
    assert_eq!(service.products().await.unwrap(), [small, pack("large", 5000, 7900)]);
    let dearer = pack("small", 500, 1000);
    service.set_products(vec![dearer.clone()]).await.unwrap();
    assert_eq!(service.products().await.unwrap(), [dearer]);
}

async fn a_purchase_whose_payment_page_cannot_be_opened_has_failed(address: &str) {
    let test_service = shop(address).await;
    let (service, caller) = (&test_service.service, &test_service.caller);
    test_service.wait_ms(5);
    let buy = async |pack: &str| service.buy_credits(caller, pack, "https://plinth.example.org/credits").await;
    assert_eq!(buy("small").await.unwrap_err().status, 502);
    for unknown in ["huge", "small\0"] {
        assert_eq!(code(buy(unknown).await), ErrorCode::NotFound, "{unknown:?}");
    }
    let purchases = service.list_purchases(caller).await.unwrap();
    let found: Vec<_> = purchases.iter().map(|one| (one.status, one.credits, one.created_at, one.paid_at)).collect();
    assert_eq!(found, [(PurchaseStatus::Failed, 500, START + 5, None)]);
    assert_eq!(test_service.account().await.paid, 100, "only the signup bonus");
}

async fn a_statement_lists_every_entry_once(address: &str) {
    let test_service = TestService::new(address).await;
    let (service, caller) = (&test_service.service, &test_service.caller);
    let account = caller.account_id.clone();
    let posted = service.db().write(move |tx| {
        Box::pin(async move {
            for n in 0..1000_i64 {
                let entry = NewEntry {
                    id: EntryId::parse(&format!("e{n:011}")).unwrap(),
                    account_id: account.clone(),
                    workspace_id: None,
                    render_id: None,
                    kind: LedgerType::AdminGrant,
                    pool: Pool::Paid,
                    credits: 1,
                    price_cents: 0,
                    source: "test".to_owned(),
                    description: String::new(),
                    // Many entries have the same time.
                    created_at: START + 1 + n / 100,
                };
                assert_eq!(ledger::post(tx, &entry).await?, Posted::Done);
            }
            Ok::<_, plinth_db::DbError>(())
        })
    });
    posted.await.unwrap();
    let (mut lines, mut position) = (Vec::new(), None);
    loop {
        let (piece, next) = service.statement(caller, position.as_ref()).await.unwrap();
        lines.extend(piece.lines().map(str::to_owned));
        position = next;
        if position.is_none() {
            break;
        }
    }
    // The first entry is the signup bonus.
    assert_eq!((lines.len(), lines.iter().collect::<BTreeSet<_>>().len()), (1001, 1001));
    assert!(lines[0].ends_with("e00000000999") && lines[1000].contains("Signup bonus"), "newest entries first");
}

mod both {
    use super::on_both_databases;
    on_both_databases! {
        a_purchase_whose_payment_page_cannot_be_opened_has_failed
        a_statement_lists_every_entry_once
        only_the_configured_packs_are_sold
    }
}
