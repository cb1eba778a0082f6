//! The time by which worker time is weighed in the fair shares. It is the time of the database's clock until the clock is
//! set back. From then on it is ahead of the clock, so that it does not go back by more than the time between two calls of
//! [`keep`]. Otherwise, until the clock has caught up, worker time that was used before the step would weigh more than later
//! use, and its accounts would wait for all others.

use crate::{Conn, DbError, Result, Tx, instance};

/// Key in the table `instance`. Its value is the latest time that [`keep`] has stored.
const LATEST: &str = "share_time";
/// Key in the table `instance`. Its value is the number of milliseconds by which this time is ahead of the database's clock. The row is
/// missing until the clock is set back for the first time.
pub(crate) const AHEAD: &str = "share_time_ahead";
/// Minimum step of the clock in milliseconds. Smaller differences occur because concurrent transactions read the clock in any order.
const MIN_STEP_MS: i64 = 60_000;

/// Stores the current time, so that a later call notices that the clock was set back. From such a call on, worker time is
/// weighed as if the clock stood at the latest stored time. Servers must call this function every few seconds: a clock that
/// is wrong only between two calls is not noticed.
///
/// Returns the number of milliseconds by which the clock was set back since the last call, less the time between the two calls; `None`
/// if no step was noticed.
pub async fn keep(tx: &mut Tx, now: i64) -> Result<Option<i64>> {
    let ahead = find(tx, AHEAD).await?.unwrap_or(0);
    let latest = find(tx, LATEST).await?.unwrap_or(i64::MIN);
    let time = now + ahead;
    if latest > time + MIN_STEP_MS {
        instance::set(tx, AHEAD, &(latest - now).to_string()).await?;
        Ok(Some(latest - time))
    } else {
        instance::set(tx, LATEST, &time.max(latest).to_string()).await?;
        Ok(None)
    }
}

async fn find(conn: &mut Conn, key: &str) -> Result<Option<i64>> {
    let value = instance::find(conn, key).await?;
    value
        .map(|value| value.parse::<i64>().map_err(|_malformed| DbError::Corrupt { column: "value", value }))
        .transpose()
}

#[cfg(test)]
mod tests {
    use plinth_testkit::TestDatabase;

    use super::*;
    use crate::{Db, DbOptions};

    #[tokio::test(flavor = "multi_thread")]
    async fn the_time_is_ahead_of_the_clock_after_steps_back() {
        const NOW: i64 = 1_800_000_000_000;
        for database in [TestDatabase::sqlite(), TestDatabase::postgres()] {
            let db = Db::open(database.address(), DbOptions::default()).await.unwrap();
            let mut seen = Vec::new();
            for now in [NOW, NOW - 60_000, NOW - 60_001, NOW + 5, NOW - 1_000_000, NOW - 999_000] {
                let keeping = db.write(move |tx| {
                    Box::pin(async move {
                        let step = keep(tx, now).await?;
                        Ok::<_, DbError>((find(tx, AHEAD).await?, step))
                    })
                });
                seen.push(keeping.await.unwrap());
            }
            // After the first step, the time is NOW + 60 006 when the clock is at NOW + 5.
            let (first, second) = (Some(60_001), Some(1_060_006));
            let (ahead, steps): (Vec<_>, Vec<_>) = seen.into_iter().unzip();
            assert_eq!(ahead, [None, None, first, first, second, second]);
            assert_eq!(steps, [None, None, first, None, Some(1_000_005), None]);
        }
    }
}
