//! Tests of claims, retries and deletion of queued mails.

use std::collections::BTreeSet;
use std::sync::Arc;

use plinth_db::Db;
use plinth_db::mails::{self, MailKind, WaitingMail};
use plinth_testkit::on_both_databases;

use crate::make;

const LEASE: i64 = 100;

fn mail(id: &str, created_at: i64) -> WaitingMail {
    WaitingMail {
        id: id.to_owned(),
        kind: MailKind::PasswordLink,
        recipient: "ada@example.org".to_owned(),
        link_base: "https://example.org/password/new/".to_owned(),
        created_at,
        attempts: 0,
    }
}

async fn insert(db: &Db, mail: WaitingMail) {
    db.write(move |tx| Box::pin(async move { mails::insert(tx, &mail).await })).await.unwrap();
}

async fn claim(db: &Db, now: i64) -> Option<WaitingMail> {
    db.write(move |tx| Box::pin(mails::claim(tx, now, now + LEASE))).await.unwrap()
}

async fn a_mail_is_claimed_by_one_server_until_its_lease_ends(address: &str) {
    let db = make::open(address).await;
    insert(&db, mail("second", 20)).await;
    insert(&db, mail("first", 10)).await;
    assert_eq!(claim(&db, 9).await, None, "not due yet");
    let first = claim(&db, 20).await.unwrap();
    assert_eq!(first, WaitingMail { attempts: 1, ..mail("first", 10) });
    assert_eq!(claim(&db, 20).await.unwrap().id, "second");
    assert_eq!(claim(&db, 20 + LEASE - 1).await, None);
    // After its lease has expired, the first server can no longer postpone the mail.
    let again = claim(&db, 20 + LEASE).await.unwrap();
    let postpone = async |mail: WaitingMail, due_at: i64| {
        db.write(move |tx| Box::pin(async move { mails::postpone(tx, &mail, due_at).await })).await.unwrap();
    };
    postpone(first, 5).await;
    assert_eq!((again.id.as_str(), again.attempts), ("first", 2));
    postpone(again, 500).await;
    db.write(|tx| Box::pin(mails::delete(tx, "second"))).await.unwrap();
    assert_eq!(claim(&db, 499).await, None);
    assert_eq!(claim(&db, 500).await.unwrap().attempts, 3);
}

async fn simultaneous_claims_get_different_mails(address: &str) {
    let db = Arc::new(make::open(address).await);
    for n in 0..12 {
        insert(&db, mail(&format!("m{n}"), 10)).await;
    }
    let claims = (0..12).map(|_server| {
        let db = Arc::clone(&db);
        tokio::spawn(async move { claim(&db, 20).await })
    });
    let mut ids = BTreeSet::new();
    for claimed in claims.collect::<Vec<_>>() {
        if let Some(mail) = claimed.await.unwrap() {
            assert!(ids.insert(mail.id), "claimed twice");
        }
    }
    while let Some(mail) = claim(&db, 20).await {
        assert!(ids.insert(mail.id), "claimed twice");
    }
    assert_eq!(ids.len(), 12);
}

async fn mails_are_due_soon_after_the_clock_was_set_back(address: &str) {
    let db = make::open(address).await;
    for (id, due_at) in [("early", 1_000), ("late", 1_001)] {
        insert(&db, mail(id, due_at)).await;
    }
    assert_eq!(db.write(|tx| Box::pin(mails::bring_forward(tx, 1_000, 50))).await.unwrap(), 1);
    assert_eq!(claim(&db, 49).await, None);
    assert_eq!(claim(&db, 50).await.unwrap().id, "late");
    assert_eq!(claim(&db, 50).await, None, "the other mail keeps its time");
}

mod both {
    use super::on_both_databases;
    on_both_databases! {
        a_mail_is_claimed_by_one_server_until_its_lease_ends
        simultaneous_claims_get_different_mails
        mails_are_due_soon_after_the_clock_was_set_back
    }
}
