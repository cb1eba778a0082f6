//! Tests of Stripe refunds of purchases whose credits were already spent.

use hmac::{Hmac, KeyInit as _, Mac as _};
use plinth_db::purchases::{self, Purchase};
use plinth_service::billing::StripeOptions;
use plinth_service::jobs::Claim;
use plinth_spec::FailureCode;
use plinth_spec::funding::Pool;
use plinth_spec::id::PurchaseId;
use plinth_spec::state::RenderStatus;
use plinth_testkit::on_both_databases;
use serde_json::{Value, json};
use sha2::Sha256;

use crate::credits::pack;
use crate::test_service::{START, TestService};

const SECRET: &str = "whsec_test";

struct Shop {
    test_service: TestService,
    model: String,
}

impl Shop {
    /// Opens a service whose account has bought 500 credits for 9 dollars.
    async fn open(address: &str) -> Self {
        let test_service = TestService::with(address, |options| {
            options.stripe = Some(StripeOptions {
                secret_key: "sk_test_1".to_owned(),
                webhook_secrets: vec![SECRET.to_owned()],
                url: StripeOptions::URL.parse().unwrap(),
            });
        })
        .await;
        let model = test_service.model("chair").await;
        let shop = Self { test_service, model };
        shop.buy(1).await;
        assert_eq!(shop.paid().await, 600, "with the signup bonus");
        shop
    }

    /// Buys 500 credits for 9 dollars.
    async fn buy(&self, number: u32) {
        let account = self.test_service.caller.account_id.clone();
        let id = PurchaseId::parse(&format!("p{number:011}")).unwrap();
        let session = format!("cs_{number}");
        let purchase = Purchase {
            session_id: Some(session.clone()),
            created_at: START,
            ..Purchase::pending(id, account, &pack("small", 500, 900))
        };
        let bought = self.test_service.service.db();
        bought.write(move |tx| Box::pin(async move { purchases::insert(tx, &purchase).await })).await.unwrap();
        let paid = json!({"id": session, "payment_status": "paid", "amount_total": 900, "currency": "usd",
                          "payment_intent": format!("pi_{number}")});
        self.event("checkout.session.completed", paid).await;
    }

    /// Receives a signed event.
    async fn event(&self, kind: &str, object: Value) {
        let body = json!({"id": "evt_1", "type": kind, "data": {"object": object}}).to_string();
        let mut hmac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
        hmac.update(format!("{}.{body}", START / 1000).as_bytes());
        let signature = format!("t={},v1={}", START / 1000, hex::encode(hmac.finalize().into_bytes()));
        self.test_service.service.stripe_event(Some(&signature), body.as_bytes()).await.unwrap();
    }

    async fn refund(&self, cents: u64) {
        self.refund_of(1, cents).await;
    }

    async fn refund_of(&self, number: u32, cents: u64) {
        let payment = format!("pi_{number}");
        let charge = json!({"amount": 900, "amount_refunded": cents, "currency": "usd", "payment_intent": payment});
        self.event("charge.refunded", charge).await;
        self.test_service.assert_balanced().await;
    }

    async fn order(&self, quality: &str, secs: u32) -> String {
        self.test_service.wait_ms(1000);
        let settings = json!({"quality": quality, "length": secs});
        self.test_service.render(&self.model, settings, None).await.unwrap().id.to_string()
    }

    async fn status(&self, render: &str) -> RenderStatus {
        self.test_service.service.render(&self.test_service.caller, render).await.unwrap().status
    }

    async fn paid(&self) -> u64 {
        self.test_service.account().await.paid
    }

    async fn fail(&self, claim: &Claim) {
        let failed = self.test_service.service.fail_render(claim, FailureCode::RendererCrash, "it crashed").await;
        failed.unwrap().unwrap();
        self.test_service.assert_balanced().await;
    }

    async fn refunded_and_owed(&self) -> (u64, u64) {
        self.refunded_and_owed_of(1).await
    }

    /// Returns the number of credits that the refunds of a purchase have removed, and the number that is still owed.
    async fn refunded_and_owed_of(&self, number: u32) -> (u64, u64) {
        let mut conn = self.test_service.service.db().read().await.unwrap();
        let purchase = purchases::find_by_session(&mut conn, &format!("cs_{number}")).await.unwrap().unwrap();
        (purchase.refunded_credits, purchase.owed_credits)
    }
}

async fn a_refund_cancels_queued_renders_as_far_as_needed(address: &str) {
    let shop = Box::pin(Shop::open(address)).await;
    let begun = shop.order("standard", 120).await;
    let claim = shop.test_service.claim_first().await;
    assert_eq!(claim.render.id.as_str(), begun);
    let (earlier, later) = (shop.order("share", 50).await, shop.order("share", 60).await);
    assert_eq!(shop.paid().await, 10);

    // A refund of a tenth of the price takes 50 credits back. It cancels the newest queued render.
    shop.refund(90).await;
    assert_eq!((shop.status(&earlier).await, shop.status(&later).await), (RenderStatus::Pending, RenderStatus::Failed));
    assert_eq!((shop.paid().await, shop.refunded_and_owed().await), (20, (50, 0)));
    // The rest of the price is refunded. A render that a worker has begun cannot be cancelled, so its credits are owed.
    shop.refund(900).await;
    assert_eq!(shop.status(&earlier).await, RenderStatus::Failed);
    assert_eq!(shop.status(&begun).await, RenderStatus::PosterProcessing);
    assert_eq!((shop.paid().await, shop.refunded_and_owed().await), (0, (120, 380)));
    for cents in [900, 90] {
        shop.refund(cents).await;
    }
    assert_eq!(shop.refunded_and_owed().await, (120, 380), "repeated and late events change nothing");

    // Credits of renders that were ordered after the refund are not removed.
    shop.test_service.grant(Pool::Paid, 30).await;
    let after = shop.order("share", 30).await;
    shop.test_service.service.cancel_render(&shop.test_service.caller, &after).await.unwrap();
    assert_eq!((shop.paid().await, shop.refunded_and_owed().await), (30, (120, 380)));

    // The render that had begun fails. Of its 480 credits, 100 were the signup bonus.
    shop.fail(&claim).await;
    assert_eq!((shop.paid().await, shop.refunded_and_owed().await), (130, (500, 0)));
    let rows = shop.test_service.service.purchases(&shop.test_service.caller, None, None).await.unwrap().data;
    let found: Vec<_> = rows.iter().map(|row| (row.description.as_str(), row.credits, row.price_cents)).collect();
    let of_render = format!("Refund of 500 credits: credits of render {begun}");
    for expected in [
        ("Refund of 500 credits", -50, -90),
        ("Refund of 500 credits; 380 credits had been spent", -70, -810),
        (of_render.as_str(), -380, 0),
    ] {
        assert!(found.contains(&expected), "{expected:?}: {found:?}");
    }
}

async fn a_refund_in_parts_takes_only_credits_of_renders_that_were_ordered_before_each_part(address: &str) {
    let shop = Box::pin(Shop::open(address)).await;
    // All 600 credits are spent on renders that workers have claimed.
    shop.order("standard", 120).await;
    let first = shop.test_service.claim_first().await;
    shop.order("standard", 30).await;
    let _second = shop.test_service.claim_first().await;
    shop.refund(450).await;
    assert_eq!((shop.paid().await, shop.refunded_and_owed().await), (0, (0, 250)));
    // The account gets more credits and orders a render before the second refund.
    shop.test_service.grant(Pool::Paid, 30).await;
    shop.order("share", 30).await;
    let between = shop.test_service.claim_first().await;
    shop.test_service.wait_ms(1000);
    shop.refund(468).await;
    assert_eq!((shop.paid().await, shop.refunded_and_owed().await), (0, (0, 260)));
    shop.test_service.grant(Pool::Paid, 7).await;
    shop.order("share", 7).await;
    let after = shop.test_service.claim_first().await;

    shop.fail(&after).await;
    assert_eq!((shop.paid().await, shop.refunded_and_owed().await), (7, (0, 260)), "ordered after both refunds");
    shop.fail(&between).await;
    assert_eq!((shop.paid().await, shop.refunded_and_owed().await), (27, (10, 250)), "only the second refund takes");
    shop.fail(&first).await;
    assert_eq!((shop.paid().await, shop.refunded_and_owed().await), (257, (260, 0)), "the rest of the first refund");
}

async fn the_credits_of_one_render_pay_what_is_owed_for_two_refunds(address: &str) {
    let shop = Box::pin(Shop::open(address)).await;
    let mut claims = Vec::new();
    for secs in [74, 76] {
        shop.order("standard", secs).await;
        claims.push(shop.test_service.claim_first().await);
    }
    assert_eq!(shop.paid().await, 0);
    for (cents, owed) in [(450, 250), (900, 500)] {
        shop.refund(cents).await;
        assert_eq!(shop.refunded_and_owed().await, (0, owed));
    }
    shop.fail(&claims[0]).await;
    assert_eq!((shop.paid().await, shop.refunded_and_owed().await), (0, (296, 204)));
    shop.fail(&claims[1]).await;
    assert_eq!((shop.paid().await, shop.refunded_and_owed().await), (100, (500, 0)));
}

async fn the_credits_of_a_render_pay_what_is_owed_for_the_earlier_purchase_first(address: &str) {
    let shop = Box::pin(Shop::open(address)).await;
    shop.test_service.grant(Pool::Paid, -100).await;
    shop.buy(2).await;
    let mut claims = Vec::new();
    for secs in [120, 119, 11] {
        shop.order("standard", secs).await;
        claims.push(shop.test_service.claim_first().await);
    }
    for number in [1, 2] {
        shop.refund_of(number, 900).await;
        assert_eq!((shop.paid().await, shop.refunded_and_owed_of(number).await), (0, (0, 500)));
    }
    for (claim, first, second) in [(0, (480, 20), (0, 500)), (2, (500, 0), (24, 476)), (1, (500, 0), (500, 0))] {
        shop.fail(&claims[claim]).await;
        assert_eq!((shop.refunded_and_owed_of(1).await, shop.refunded_and_owed_of(2).await), (first, second));
        assert_eq!(shop.paid().await, 0);
    }
}

async fn a_second_refund_cancels_only_renders_whose_credits_it_needs(address: &str) {
    let shop = Box::pin(Shop::open(address)).await;
    let queued = shop.order("standard", 120).await;
    assert_eq!(shop.paid().await, 120);
    for (cents, paid) in [(90, 70), (180, 20)] {
        shop.refund(cents).await;
        assert_eq!((shop.paid().await, shop.status(&queued).await), (paid, RenderStatus::Pending));
    }
}

async fn what_a_refund_has_taken_is_not_taken_again(address: &str) {
    let shop = Box::pin(Shop::open(address)).await;
    for secs in [74, 76] {
        shop.order("standard", secs).await;
        shop.test_service.claim_first().await;
    }
    shop.refund(450).await;
    assert_eq!((shop.paid().await, shop.refunded_and_owed().await), (0, (0, 250)));
    // Three renders are ordered between the refunds, so only the second refund takes their credits. Of its 100
    // credits, the account still has 20.
    let mut claims = Vec::new();
    for secs in [30_u32, 100, 5] {
        shop.test_service.grant(Pool::Paid, i64::from(secs)).await;
        shop.order("share", secs).await;
        claims.push(shop.test_service.claim_first().await);
    }
    shop.test_service.wait_ms(1000);
    shop.test_service.grant(Pool::Paid, 20).await;
    shop.refund(630).await;
    assert_eq!((shop.paid().await, shop.refunded_and_owed().await), (0, (20, 330)));
    for (claim, paid, refunded, owed) in [(0, 0, 50, 300), (1, 50, 100, 250), (2, 55, 100, 250)] {
        shop.fail(&claims[claim]).await;
        assert_eq!((shop.paid().await, shop.refunded_and_owed().await), (paid, (refunded, owed)));
    }
}

async fn a_later_refund_cancels_renders_although_an_earlier_one_takes_their_credits(address: &str) {
    let shop = Box::pin(Shop::open(address)).await;
    shop.test_service.grant(Pool::Paid, -100).await;
    // All 500 credits are spent on two renders that workers have claimed.
    let (first, second) = (shop.order("standard", 60).await, shop.order("standard", 65).await);
    let claims = [shop.test_service.claim_first().await, shop.test_service.claim_first().await];
    shop.test_service.wait_ms(1000);
    shop.refund(450).await;
    assert_eq!((shop.paid().await, shop.refunded_and_owed().await), (0, (0, 250)));
    // The worker stops and releases both renders, so they can be cancelled again.
    for claim in &claims {
        shop.test_service.service.release_render(claim).await.unwrap().unwrap();
    }
    shop.refund(900).await;
    assert_eq!((shop.status(&first).await, shop.status(&second).await), (RenderStatus::Failed, RenderStatus::Failed));
    assert_eq!((shop.paid().await, shop.refunded_and_owed().await), (0, (500, 0)));
}

async fn a_refund_of_credits_for_hundreds_of_renders_is_booked(address: &str) {
    let shop = Box::pin(Shop::open(address)).await;
    shop.test_service.grant(Pool::Paid, -100).await;
    for _batch in 0..5 {
        let item = |n: u32| json!({"modelId": shop.model, "renderSettings": {"quality": "share", "length": 1, "zoom": 1.0 + f64::from(n) / 1000.0}});
        let request = serde_json::from_value(json!({"renders": (0..100).map(item).collect::<Vec<_>>()})).unwrap();
        let (service, caller) = (&shop.test_service.service, &shop.test_service.caller);
        shop.test_service.wait_ms(60_000);
        service.create_batch(caller, request, plinth_spec::idempotency::ReplayKey::from_header(None)).await.unwrap();
    }
    assert_eq!(shop.paid().await, 0);
    shop.refund(450).await;
    assert_eq!((shop.paid().await, shop.refunded_and_owed().await), (0, (250, 0)));
    shop.refund(900).await;
    assert_eq!((shop.paid().await, shop.refunded_and_owed().await), (0, (500, 0)));
}

mod both {
    use super::on_both_databases;
    on_both_databases! {
        a_refund_cancels_queued_renders_as_far_as_needed
        a_refund_in_parts_takes_only_credits_of_renders_that_were_ordered_before_each_part
        the_credits_of_one_render_pay_what_is_owed_for_two_refunds
        the_credits_of_a_render_pay_what_is_owed_for_the_earlier_purchase_first
        a_second_refund_cancels_only_renders_whose_credits_it_needs
        what_a_refund_has_taken_is_not_taken_again
        a_later_refund_cancels_renders_although_an_earlier_one_takes_their_credits
        a_refund_of_credits_for_hundreds_of_renders_is_booked
    }
}
