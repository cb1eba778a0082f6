//! Tests of how often a client may request links for new passwords and try to sign in.

use plinth_db::{mails, rate_windows};
use plinth_service::Service;
use plinth_service::access::ClientAddress;
use plinth_spec::{ErrorCode, limits};
use plinth_testkit::{TestDatabase, on_both_databases};

use crate::test_service::{START, TestService, client, code};

const HOUR_MS: i64 = 3_600_000;

/// Claims all mails that wait to be sent, and returns how many of them are for an address.
async fn count_mails(service: &Service, address: &'static str) -> usize {
    let claimed = service.db().write(move |tx| {
        Box::pin(async move {
            let mut mails = Vec::new();
            while let Some(mail) = mails::claim(tx, i64::MAX - 1, i64::MAX).await? {
                mails.push(mail);
            }
            Ok::<_, plinth_db::DbError>(mails.iter().filter(|mail| mail.recipient == address).count())
        })
    });
    claimed.await.unwrap()
}

async fn links_for_new_passwords_are_limited_per_client_and_per_address(address: &str) {
    let test_service = TestService::new(address).await;
    let service = &test_service.service;
    let recover = async |from: ClientAddress, email: &str| service.recover_password(&from, email, String::new()).await;
    for n in 0..limits::PASSWORD_LINKS_PER_CLIENT {
        recover(client("192.0.2.1"), &format!("{n}@example.org")).await.unwrap();
    }
    assert_eq!(code(recover(client("192.0.2.1"), "another@example.org").await), ErrorCode::RateLimited);
    // The clients of an unknown reverse proxy share one address, which has a higher limit.
    let shared = ClientAddress { is_shared: true, ..client("192.0.2.2") };
    let factor = limits::PASSWORDS_PER_UNTRUSTED_PROXY / limits::PASSWORDS_PER_CLIENT;
    for n in 0..factor * limits::PASSWORD_LINKS_PER_CLIENT {
        recover(shared, &format!("{n}@example.com")).await.unwrap();
    }
    assert_eq!(code(recover(shared, "another@example.com").await), ErrorCode::RateLimited);
    // A request that exceeds the limit of an address sends no mail, and is not rejected, so that it tells nothing.
    for n in 0..=limits::PASSWORD_LINKS_PER_ADDRESS {
        recover(client(&format!("198.51.100.{n}")), "grace@example.org").await.unwrap();
    }
    assert_eq!(count_mails(service, "grace@example.org").await, limits::PASSWORD_LINKS_PER_ADDRESS as usize);
    test_service.wait_ms(HOUR_MS);
    recover(client("192.0.2.1"), "grace@example.org").await.unwrap();
    assert_eq!(count_mails(service, "grace@example.org").await, 1);
}

async fn passwords_can_be_tried_again_after_the_clock_was_set_back(address: &str) {
    let test_service = TestService::new(address).await;
    let service = &test_service.service;
    // These passwords are too long to be hashed, so that the test is fast.
    let attempt =
        async |email: &str| code(service.sign_in_with_password(client("192.0.2.1"), email, "x".repeat(2000), "").await);
    for n in 0..limits::PASSWORDS_PER_CLIENT {
        assert_eq!(attempt(&format!("{n}@example.org")).await, ErrorCode::Unauthorized);
    }
    assert_eq!(attempt("another@example.org").await, ErrorCode::RateLimited);
    test_service.wait_ms(-HOUR_MS);
    assert_eq!(attempt("another@example.org").await, ErrorCode::Unauthorized);
}

/// Otherwise the client could fill the table of windows with one row per address that it tries.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_has_reached_its_limit_creates_no_more_windows() {
    let database = TestDatabase::postgres();
    let test_service = TestService::new(database.address()).await;
    let service = &test_service.service;
    // These passwords are too long to be hashed, so that the test is fast.
    let attempt = async |email: String| {
        code(service.sign_in_with_password(client("192.0.2.1"), &email, "x".repeat(2000), "").await)
    };
    for n in 0..limits::PASSWORDS_PER_CLIENT {
        assert_eq!(attempt(format!("{n}@example.org")).await, ErrorCode::Unauthorized);
    }
    for n in 0..5 {
        assert_eq!(attempt(format!("{n}@example.com")).await, ErrorCode::RateLimited);
    }
    let windows = service.db().write(|tx| Box::pin(rate_windows::delete_ended(tx, START + HOUR_MS)));
    // Each attempt was counted for its address, for the client and its address together, and for the client.
    assert_eq!(windows.await.unwrap(), u64::from(2 * limits::PASSWORDS_PER_CLIENT + 1));
}

mod both {
    use super::on_both_databases;
    on_both_databases! {
        links_for_new_passwords_are_limited_per_client_and_per_address
        passwords_can_be_tried_again_after_the_clock_was_set_back
    }
}
