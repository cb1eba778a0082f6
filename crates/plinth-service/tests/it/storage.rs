//! Holds on the store.

use plinth_service::Clock;
use plinth_testkit::on_both_databases;

use crate::house::House;

/// As long as a process that was killed is waited for.
const HOLD_MS: i64 = 600_000;

async fn a_hold_is_renewed_for_as_long_as_it_lives(address: &str) {
    let house = House::with(address, |options| {
        options.clock = Clock::Database;
        options.hold_secs = 1;
    });
    let house = house.await;
    let now = async || house.service.db().read().await.unwrap().now_ms().await.unwrap();
    let hold = house.service.hold_storage().await.unwrap();
    let end = now().await + 2500;
    while now().await < end {
        assert!(house.service.is_held().await.unwrap());
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    assert!(hold.release().await.unwrap(), "it was held all the time");
    assert!(!house.service.is_held().await.unwrap());
}

async fn a_hold_that_expired_says_so_and_does_not_come_back(address: &str) {
    let house = House::new(address).await;
    let lost = house.service.hold_storage().await.unwrap();
    house.wait_ms(HOLD_MS);
    assert!(!house.service.is_held().await.unwrap());
    let other = house.service.hold_storage().await.unwrap();
    assert!(!lost.release().await.unwrap(), "something may have been removed meanwhile");
    assert!(house.service.is_held().await.unwrap(), "another hold is not touched");
    assert!(other.release().await.unwrap());
    assert!(!house.service.is_held().await.unwrap());
}

async fn a_dropped_hold_expires(address: &str) {
    let house = House::new(address).await;
    drop(house.service.hold_storage().await.unwrap());
    assert!(house.service.is_held().await.unwrap());
    house.wait_ms(HOLD_MS);
    assert!(!house.service.is_held().await.unwrap());
    house.service.sweep().await.unwrap();
}

mod both {
    use super::on_both_databases;
    on_both_databases! {
        a_hold_is_renewed_for_as_long_as_it_lives
        a_hold_that_expired_says_so_and_does_not_come_back
        a_dropped_hold_expires
    }
}
