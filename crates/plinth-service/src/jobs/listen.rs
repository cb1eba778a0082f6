//! Wakes the worker of this process when any process queues work that this worker takes, or requests a preview.

use std::pin::pin;
use std::time::Duration;

use plinth_db::{Db, DbError, Heard, QueueListener, Queued};
use plinth_spec::Takes;
use tokio::select;
use tokio::time::sleep;

use crate::service::Service;

/// Average number of workers that query the queue for each queued job. The probability that no worker queries the queue
/// is below 1e-13. If most workers are busy, one of them soon ends its job and queries the queue.
const LOOKS_PER_JOB: u32 = 32;
/// Interval at which a worker counts all listening workers. The query of this count also detects a dead connection.
const COUNT_EVERY: Duration = Duration::from_mins(1);
/// Pauses before the listener connects again are spread over this time, plus [`RECONNECT_EACH`] per listener.
const RECONNECT: Duration = Duration::from_secs(1);
const RECONNECT_EACH: Duration = Duration::from_millis(5);

impl Service {
    /// Wakes the worker of this process, which waits in [`render_queued`](Self::render_queued) and
    /// [`preview_requested`](Self::preview_requested), when another process has queued work that the worker takes, or has
    /// requested a preview. If many workers listen, only some of them wake up. Never returns. Does nothing on SQLite.
    pub async fn listen_for_work(&self, takes: &Takes) {
        let mut listeners = 0;
        loop {
            let Err(error) = self.listen_until_lost(&self.db, takes, &mut listeners).await else { return };
            tracing::warn!(error = %error, "the connection that listens for queued renders is lost; it is opened again");
            sleep(longest_pause(listeners).mul_f64(fastrand::f64())).await;
            // The worker queries the queue after each attempt to connect, because it receives no notifications meanwhile.
            self.look_for_work();
        }
    }

    fn look_for_work(&self) {
        self.queued.notify_one();
        self.arrivals.requested.notify_one();
    }

    async fn listen_until_lost(&self, db: &Db, takes: &Takes, listeners: &mut u32) -> Result<(), DbError> {
        let Some(mut listener) = db.listen(takes).await? else { return std::future::pending().await };
        let mut all = Listeners::count(&mut listener).await?;
        *listeners = all.number();
        // The connection did not receive notifications of work that was queued before the connection was open.
        self.look_for_work();
        let mut count = pin!(sleep(COUNT_EVERY));
        loop {
            let heard = select! {
                biased;
                heard = listener.next() => Some(heard?),
                () = count.as_mut() => None,
            };
            match heard {
                Some(Heard::Queued(queued)) => {
                    if takes.includes(queued.class) && fastrand::f64() < all.chance(queued) {
                        self.queued.notify_one();
                    }
                }
                Some(Heard::Preview(Some(holder))) => {
                    if holder == self.arrivals.token {
                        self.arrivals.requested.notify_one();
                    }
                }
                Some(Heard::Preview(None)) => {
                    if fastrand::f64() < all.chance_of_preview() {
                        self.arrivals.requested.notify_one();
                    }
                }
                None => {
                    all = Listeners::count(&mut listener).await?;
                    *listeners = all.number();
                    count.set(sleep(until_next_count()));
                }
            }
        }
    }
}

/// Returns the longest pause before one of this number of workers connects again.
fn longest_pause(listeners: u32) -> Duration {
    RECONNECT + RECONNECT_EACH * listeners
}

/// Returns a random time of about [`COUNT_EVERY`], so that workers that have started together do not count together.
fn until_next_count() -> Duration {
    COUNT_EVERY.mul_f64(0.75 + 0.5 * fastrand::f64())
}

/// For each listening worker, including the worker of this process, the work that it takes.
struct Listeners(Vec<Takes>);

impl Listeners {
    async fn count(listener: &mut QueueListener) -> Result<Self, DbError> {
        Ok(Self(listener.list_listeners().await?))
    }

    fn number(&self) -> u32 {
        u32::try_from(self.0.len()).unwrap_or(u32::MAX)
    }

    /// Returns the probability with which a worker should query the queue after it was notified of `queued`.
    fn chance(&self, queued: Queued) -> f64 {
        f64::from(queued.jobs) * self.chance_of_one(|takes| takes.includes(queued.class))
    }

    /// Returns the probability with which a worker should query the requests for previews, after it was notified of a
    /// request whose model no worker has loaded.
    fn chance_of_preview(&self) -> f64 {
        self.chance_of_one(Takes::includes_previews)
    }

    fn chance_of_one(&self, takes_it: impl Fn(&Takes) -> bool) -> f64 {
        let takers = self.0.iter().filter(|takes| takes_it(takes)).count().max(1);
        f64::from(LOOKS_PER_JOB) / takers as f64
    }
}

#[cfg(test)]
mod tests {
    use plinth_spec::WorkClass;

    use super::*;

    #[test]
    fn workers_connect_again_at_a_rate_that_does_not_grow_with_their_number() {
        assert_eq!(longest_pause(0), Duration::from_secs(1));
        assert_eq!(longest_pause(2000), Duration::from_secs(11));
    }

    #[test]
    fn workers_count_the_listeners_about_once_a_minute() {
        let times: Vec<_> = (0..1000).map(|_| until_next_count()).collect();
        let (least, most) = (*times.iter().min().unwrap(), *times.iter().max().unwrap());
        assert!(least >= Duration::from_secs(45) && most <= Duration::from_secs(75), "{least:?} {most:?}");
        assert!(most.abs_diff(least) > Duration::from_secs(20), "{least:?} {most:?}");
    }

    #[test]
    fn all_of_few_workers_look_and_about_32_of_many() {
        let takes = |text: &str| text.parse::<Takes>().unwrap();
        let workers = [vec![takes("share"); 998], vec![takes("share,pro"); 2]].concat();
        let many = Listeners(workers);
        assert_eq!(many.number(), 1000);
        let chance = |class, jobs| many.chance(Queued { jobs, class });
        let is_about = |chance: f64, expected: f64| (chance - expected).abs() < 1e-9;
        assert!(is_about(chance(Some(WorkClass::Share), 1), 0.032));
        assert!(is_about(chance(None, 10), 0.32));
        assert!(chance(Some(WorkClass::Pro), 1) >= 1.0, "only two take it");
        assert!(chance(Some(WorkClass::Share), 100) >= 1.0, "a batch needs more workers");
        let previews = Listeners([vec![takes("share"); 900], vec![takes("share,preview"); 100]].concat());
        assert!(is_about(previews.chance_of_preview(), 0.32));
        assert!(Listeners(Vec::new()).chance(Queued { jobs: 1, class: None }) >= 1.0);
    }
}
