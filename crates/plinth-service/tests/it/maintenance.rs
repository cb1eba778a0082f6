//! Tests of the periodic maintenance, which measures renders of earlier versions, reclaims expired leases and deletes
//! unreferenced objects.

use std::fs::File;
use std::time::{Duration, Instant, SystemTime};

use plinth_db::renders::Render;
use plinth_db::{DbError, TimeLimits, instance, leases, mails, renders, storage, unreferenced_objects};
use plinth_service::jobs::Reclaimed;
use plinth_service::{CleanupReport, Service, ServiceOptions};
use plinth_spec::id::RenderId;
use plinth_spec::state::RenderStatus;
use plinth_testkit::on_both_databases;
use tokio::net::TcpListener;

use crate::test_service::{EMAIL, START, TestService, client};

/// Inserts finished renders whose sizes are not stored.
async fn insert_old(test_service: &TestService, like: &Render, ids: std::ops::Range<u32>, files: &str) {
    let old = |n| Render {
        id: RenderId::parse(&format!("k{n:011}")).unwrap(),
        status: RenderStatus::Done,
        files: Some(files.to_owned()),
        ..like.clone()
    };
    let rows: Vec<_> = ids.map(old).collect();
    let inserting =
        test_service.service.db().write(move |tx| Box::pin(async move { renders::insert_all(tx, &rows).await }));
    inserting.await.unwrap();
}

/// Schedules 200 prefixes with an object each for deletion. One cleanup deletes the objects of 100 prefixes.
async fn schedule_objects(test_service: &TestService) {
    let prefixes: Vec<_> = (0..200).map(|n| format!("renders/none{n:03}/")).collect();
    for prefix in &prefixes {
        let folder = test_service.folder.path().join("objects").join(prefix);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("video.mp4"), "video").unwrap();
    }
    let scheduling = test_service.service.db().write(move |tx| {
        Box::pin(async move {
            for prefix in prefixes {
                unreferenced_objects::insert(tx, &prefix, START - 1).await?;
            }
            Ok::<_, DbError>(())
        })
    });
    scheduling.await.unwrap();
}

/// Opens a second service on the same database, whose store is the returned listener. The listener accepts connections and
/// sends nothing.
async fn with_silent_store(test_service: &TestService) -> (Service, TcpListener) {
    let store = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", store.local_addr().unwrap());
    (test_service.with_s3_at(&endpoint, "bucket", ("key", "secret")), store)
}

/// Waits until `is_done` returns true. The time limit is shorter than that of a request to a store that does not respond.
async fn wait_until(problem: &str, is_done: impl AsyncFn() -> bool) {
    let end = Instant::now() + Duration::from_secs(40);
    while !is_done().await {
        assert!(Instant::now() < end, "{problem}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn a_render_whose_files_cannot_be_read_does_not_stop_the_measuring(address: &str) {
    let test_service = TestService::new(address).await;
    let service = &test_service.service;
    test_service.upload("chair", Some("{}")).await.unwrap();
    let like = test_service.claim().await.render;
    let total = async || storage::total(&mut service.db().read().await.unwrap()).await.unwrap();
    let before = total().await;
    insert_old(&test_service, &like, 1..3, "{\"video\": 1").await;
    insert_old(&test_service, &like, 3..4, r#"{"video":{"size":7,"crc32":9}}"#).await;
    assert_eq!((service.measure_renders().await.unwrap(), service.measure_renders().await.unwrap()), (3, 0));
    assert_eq!(total().await, before + 7);
    assert_eq!(storage::find_miscounted(&mut service.db().read().await.unwrap()).await.unwrap(), []);
}

/// The files of most prefixes were deleted at once, when their renders were.
async fn a_cleanup_does_not_end_at_prefixes_without_files(address: &str) {
    let test_service = TestService::new(address).await;
    let service = &test_service.service;
    let marking = service.db().write(|tx| {
        Box::pin(async move {
            for n in 0..250 {
                unreferenced_objects::insert(tx, &format!("renders/none{n:03}/"), START - 1).await?;
            }
            Ok::<_, DbError>(())
        })
    });
    marking.await.unwrap();
    while service.clean_up().await.unwrap() != CleanupReport::default() {}
    assert!(unreferenced_objects::list(&mut service.db().read().await.unwrap()).await.unwrap().is_empty());
}

async fn cleanups_do_not_wait_for_the_measuring_of_old_renders(address: &str) {
    let test_service = TestService::new(address).await;
    let service = &test_service.service;
    test_service.upload("chair", Some("{}")).await.unwrap();
    let like = test_service.claim().await.render;
    let marking = service
        .db()
        .write(|tx| Box::pin(async move { unreferenced_objects::insert(tx, "renders/none/", START - 1).await }));
    marking.await.unwrap();
    insert_old(&test_service, &like, 0..1000, "{}").await;
    // Renders are added faster than they are measured, so that the measuring does not end before the cleanup.
    let adding = async {
        let end = Instant::now() + Duration::from_secs(30);
        for n in 5.. {
            let left = unreferenced_objects::list(&mut service.db().read().await.unwrap()).await.unwrap();
            if left.is_empty() {
                break;
            }
            assert!(Instant::now() < end, "nothing was cleaned up while renders were measured");
            insert_old(&test_service, &like, n * 200..(n + 1) * 200, "{}").await;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::select! {
        () = service.run_maintenance() => {}
        () = adding => {}
    }
    let unmeasured = storage::list_unmeasured(&mut service.db().read().await.unwrap(), 1).await.unwrap();
    assert_eq!(unmeasured.len(), 1, "the measuring had ended before the cleanup");
}

async fn a_store_that_does_not_respond_delays_neither_expired_leases_nor_corrections_of_times(address: &str) {
    let test_service = TestService::with(address, |options| options.lease_secs = 4).await;
    let (service, store) = with_silent_store(&test_service).await;
    test_service.upload("chair", Some("{}")).await.unwrap();
    let claim = test_service.claim().await;
    service.correct_times().await.unwrap();
    let others = async {
        let _connection = store.accept().await.unwrap();
        // The cleanup waits for the store from now on.
        test_service.wait_ms(4_001);
        let is_requeued = async || !test_service.service.claim_renders("other", 1).await.unwrap().is_empty();
        wait_until("the expired lease was not reclaimed", is_requeued).await;
        assert!(service.renew_claim(&claim).await.unwrap().is_err());
        test_service.wait_ms(-3_600_000);
        let is_corrected = async || {
            let mut conn = service.db().read().await.unwrap();
            instance::find(&mut conn, "share_time_ahead").await.unwrap().is_some()
        };
        wait_until("the times were not corrected", is_corrected).await;
        let next = tokio::time::timeout(Duration::ZERO, store.accept()).await;
        assert!(next.is_err(), "the cleanup did not wait for the response to its first request");
    };
    tokio::select! {
        () = service.run_maintenance() => {}
        () = others => {}
    }
}

async fn incomplete_uploads_are_deleted_even_if_the_store_does_not_respond(address: &str) {
    let test_service = TestService::new(address).await;
    let (service, store) = with_silent_store(&test_service).await;
    // A killed server has left this file.
    let orphan = test_service.folder.path().join("plinth-incoming-orphan");
    File::create(&orphan).unwrap().set_modified(SystemTime::now() - Duration::from_mins(1)).unwrap();
    let deleting = async {
        let _connection = store.accept().await.unwrap();
        wait_until("the file was not deleted", async || !orphan.exists()).await;
    };
    tokio::select! {
        () = service.run_maintenance() => {}
        () = deleting => {}
    }
}

async fn cleanups_of_two_servers_delete_different_objects(address: &str) {
    let test_service = TestService::new(address).await;
    schedule_objects(&test_service).await;
    let (first, second) = (&test_service.service, test_service.beside(address).await);
    let (one, other) = tokio::join!(first.clean_up(), second.clean_up());
    assert_eq!((one.unwrap().objects, other.unwrap().objects), (100, 100));
    assert!(unreferenced_objects::list(&mut first.db().read().await.unwrap()).await.unwrap().is_empty());
}

async fn a_cleanup_leaves_objects_to_a_server_that_has_claimed_them(address: &str) {
    let test_service = TestService::new(address).await;
    schedule_objects(&test_service).await;
    let (first, store) = with_silent_store(&test_service).await;
    let second = &test_service.service;
    let cleaning = async {
        let _connection = store.accept().await.unwrap();
        // The first server has claimed 100 prefixes, and waits for its store.
        let objects = [second.clean_up().await.unwrap().objects, second.clean_up().await.unwrap().objects];
        assert_eq!(objects, [100, 0]);
        test_service.wait_ms(600_000);
        assert_eq!(
            second.clean_up().await.unwrap().objects,
            100,
            "the first server has not deleted its objects in time"
        );
    };
    tokio::select! {
        swept = first.clean_up() => panic!("the store does not respond: {swept:?}"),
        () = cleaning => {}
    }
    assert!(unreferenced_objects::list(&mut second.db().read().await.unwrap()).await.unwrap().is_empty());
}

async fn a_started_server_gives_workers_time_to_renew_expired_leases(address: &str) {
    let test_service = TestService::with(address, |options| options.lease_secs = 8).await;
    let service = &test_service.service;
    test_service.upload("chair", Some("{}")).await.unwrap();
    let claim = test_service.claim().await;
    test_service.wait_ms(9_000);
    let renewing = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        service.renew_claim(&claim).await.unwrap()
    };
    tokio::select! {
        () = service.run_maintenance() => {}
        renewed = renewing => assert_eq!(renewed, Ok(())),
    }
}

async fn expired_leases_that_cannot_be_written_are_counted(address: &str) {
    let test_service = TestService::new(address).await;
    test_service.upload("chair", Some("{}")).await.unwrap();
    let claim = test_service.claim().await;
    test_service.wait_ms(61_000);
    let limit = Duration::from_millis(500);
    let time_limits = TimeLimits { transaction: 4 * limit, statement: 2 * limit, lock: limit, idle_transaction: limit };
    let limited = test_service.limited(address, time_limits).await;
    let (tell, locked) = tokio::sync::oneshot::channel();
    let db = test_service.service.db().clone();
    let holding = tokio::spawn(async move {
        let work = db.write(|tx| {
            Box::pin(async move {
                assert!(leases::renew(tx, &claim.render.id, &claim.token, START).await?);
                tell.send(()).unwrap();
                std::future::pending::<()>().await;
                Ok::<_, DbError>(())
            })
        });
        work.await
    });
    locked.await.unwrap();
    assert_eq!(limited.reclaim_expired_leases().await.unwrap(), Reclaimed { renders: 0, errors: 1 });
    holding.abort();
}

async fn workers_that_were_suspended_with_the_server_can_renew_their_leases(address: &str) {
    let test_service = TestService::with(address, |options| options.lease_secs = 6).await;
    let service = &test_service.service;
    test_service.upload("chair", Some("{}")).await.unwrap();
    let claim = test_service.claim().await;
    let server = service.clone();
    let maintenance = tokio::spawn(async move { Box::pin(server.run_maintenance()).await });
    // The first round begins after three seconds.
    tokio::time::sleep(Duration::from_millis(3_700)).await;
    test_service.wait_ms(60_000);
    // A round begins after at most 1.5 s, before the worker renews its lease.
    tokio::time::sleep(Duration::from_millis(2_300)).await;
    assert!(service.renew_claim(&claim).await.unwrap().is_ok(), "the lease was not taken");
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert!(service.renew_claim(&claim).await.unwrap().is_ok());
    // Later rounds reclaim expired leases again.
    test_service.wait_ms(6_100);
    tokio::time::sleep(Duration::from_secs(7)).await;
    assert!(service.renew_claim(&claim).await.unwrap().is_err());
    maintenance.abort();
}

async fn times_are_corrected_after_the_clock_was_set_back(address: &str) {
    let test_service = TestService::new(address).await;
    let service = &test_service.service;
    let hour_ms = 3_600_000;
    service.correct_times().await.unwrap();
    service.recover_password(&client("192.0.2.1"), EMAIL, String::new()).await.unwrap();
    test_service.wait_ms(-hour_ms);
    service.correct_times().await.unwrap();
    let claiming = service.db().write(move |tx| Box::pin(mails::claim(tx, START - hour_ms + 60_000, START)));
    assert!(claiming.await.unwrap().is_some(), "the mail is sent soon");
    let ahead = instance::find(&mut service.db().read().await.unwrap(), "share_time_ahead").await.unwrap();
    assert_eq!(ahead.as_deref(), Some("3600000"));
}

async fn leases_and_holds_of_killed_processes_end_after_the_clock_was_set_back(address: &str) {
    let test_service = TestService::new(address).await;
    let service = &test_service.service;
    for name in ["chair", "table"] {
        test_service.upload(name, Some("{}")).await.unwrap();
    }
    let (running, killed) = (test_service.claim_first().await, test_service.claim_first().await);
    drop(service.hold_storage().await.unwrap());
    service.correct_times().await.unwrap();
    test_service.wait_ms(-3_600_000);
    service.correct_times().await.unwrap();
    test_service.wait_ms(60_000);
    assert_eq!(service.reclaim_expired_leases().await.unwrap().renders, 0, "workers have time to renew their leases");
    assert!(service.renew_claim(&running).await.unwrap().is_ok());
    test_service.wait_ms(1);
    assert_eq!(service.reclaim_expired_leases().await.unwrap().renders, 1);
    assert!(service.renew_claim(&killed).await.unwrap().is_err());
    assert!(service.renew_claim(&running).await.unwrap().is_ok());
    assert!(service.is_held().await.unwrap());
    test_service.wait_ms(600_000 - 60_001);
    assert!(!service.is_held().await.unwrap());
}

async fn workers_with_a_longer_lease_keep_it_after_the_clock_was_set_back(address: &str) {
    let test_service = TestService::new(address).await;
    let service = &test_service.service;
    test_service.upload("chair", Some("{}")).await.unwrap();
    let options = ServiceOptions { lease_secs: 600, ..service.options().clone() };
    let worker = Service::new(service.db().clone(), service.store().clone(), options);
    let claim = worker.claim_renders("worker", 1).await.unwrap().remove(0);
    service.correct_times().await.unwrap();
    for step_ms in [500_000, 3_600_000] {
        test_service.wait_ms(-step_ms);
        assert!(worker.renew_claim(&claim).await.unwrap().is_ok());
        service.correct_times().await.unwrap();
        // The worker renews its leases three times per lease time.
        test_service.wait_ms(200_000);
        assert_eq!(service.reclaim_expired_leases().await.unwrap().renders, 0, "{step_ms}");
    }
}

mod both {
    use super::on_both_databases;
    on_both_databases! {
        workers_that_were_suspended_with_the_server_can_renew_their_leases
        a_started_server_gives_workers_time_to_renew_expired_leases
        expired_leases_that_cannot_be_written_are_counted
        a_render_whose_files_cannot_be_read_does_not_stop_the_measuring
        cleanups_do_not_wait_for_the_measuring_of_old_renders
        a_cleanup_does_not_end_at_prefixes_without_files
        a_store_that_does_not_respond_delays_neither_expired_leases_nor_corrections_of_times
        incomplete_uploads_are_deleted_even_if_the_store_does_not_respond
        cleanups_of_two_servers_delete_different_objects
        a_cleanup_leaves_objects_to_a_server_that_has_claimed_them
        times_are_corrected_after_the_clock_was_set_back
        leases_and_holds_of_killed_processes_end_after_the_clock_was_set_back
        workers_with_a_longer_lease_keep_it_after_the_clock_was_set_back
    }
}
