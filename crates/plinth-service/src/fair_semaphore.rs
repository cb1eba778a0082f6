//! A semaphore with fair queueing: of all waiting holders, the holder of the fewest units is served next, and of several
//! such holders the one that was served least recently.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use plinth_spec::id::AccountId;
use tokio::sync::oneshot;

use crate::error::{Result, ServiceError};

/// The type that identifies a holder of permits. The default is an account identifier.
pub(crate) trait Holder: Clone + Eq + Hash + std::fmt::Debug {}

impl<H: Clone + Eq + Hash + std::fmt::Debug> Holder for H {}

/// Number of grants after which a holder counts as not served before. Holders that were not served before come first: they overtake
/// a waiting request if they arrive before this many further grants, and do not if they arrive later.
const REMEMBERED: u64 = 64;

/// A semaphore with weighted permits. The next permit goes to the waiting holder that holds the fewest units, and of several
/// such holders to the one that was served least recently, so that they take turns. Requests of one holder are served in
/// order. All clones share the same units.
#[derive(Clone, Debug)]
pub(crate) struct FairSemaphore<H: Holder = AccountId>(Arc<Mutex<State<H>>>);

#[derive(Debug)]
struct State<H: Holder> {
    free: u64,
    /// Maximum number of units per holder, even if no other holder is waiting.
    max_per_holder: u64,
    held: HashMap<H, u64>,
    /// Waiting requests, in order of arrival.
    waiting: VecDeque<Waiter<H>>,
    /// Number of permits that were granted so far.
    granted: u64,
    /// Number of the latest permit of each holder, at least for the latest `REMEMBERED` permits.
    last_grant: HashMap<H, u64>,
}

#[derive(Debug)]
struct Waiter<H: Holder> {
    holder: H,
    weight: u64,
    grant: oneshot::Sender<FairPermit<H>>,
    /// Number of permits that had been granted when the request arrived, or when its holder was last served after that.
    since: u64,
    /// Whether it was this request's turn when too few units were free for it.
    is_next: bool,
}

/// Units of a semaphore. Dropping the permit returns the units.
#[derive(Debug)]
pub(crate) struct FairPermit<H: Holder = AccountId> {
    semaphore: FairSemaphore<H>,
    holder: H,
    weight: u64,
}

/// Grants permits to waiters when it is dropped.
struct GrantOnDrop<'a, H: Holder>(&'a FairSemaphore<H>);

impl<H: Holder> Drop for GrantOnDrop<'_, H> {
    fn drop(&mut self) {
        self.0.grant();
    }
}

impl<H: Holder> FairSemaphore<H> {
    /// Creates a semaphore with `capacity` units, of which one holder can have at most `max_per_holder`.
    pub(crate) fn new(capacity: u64, max_per_holder: u64) -> Self {
        let max_per_holder = max_per_holder.min(capacity);
        let state = State {
            free: capacity,
            max_per_holder,
            held: HashMap::new(),
            waiting: VecDeque::new(),
            granted: 0,
            last_grant: HashMap::new(),
        };
        Self(Arc::new(Mutex::new(state)))
    }

    /// Waits for `weight` units. A larger weight than the maximum per holder is reduced to this maximum.
    pub(crate) async fn acquire(&self, holder: &H, weight: u64) -> Result<FairPermit<H>> {
        // If this request is cancelled, others may be next. The guard is dropped after `granted`, so the request has left the queue.
        let _others = GrantOnDrop(self);
        let (grant, granted) = oneshot::channel();
        {
            let mut state = self.state();
            let (weight, since) = (weight.min(state.max_per_holder), state.granted);
            state.waiting.push_back(Waiter { holder: holder.clone(), weight, grant, since, is_next: false });
        }
        self.grant();
        granted.await.map_err(ServiceError::internal)
    }

    /// Returns how many requests of a holder wait.
    pub(crate) fn waiting(&self, holder: &H) -> usize {
        self.state().waiting.iter().filter(|waiter| waiter.holder == *holder && !waiter.grant.is_closed()).count()
    }

    /// Returns whether less than an eighth of `capacity` units is free.
    pub(crate) fn is_scarce(&self, capacity: u64) -> bool {
        self.state().free < capacity / 8
    }

    /// Grants permits to waiters while enough units are free.
    fn grant(&self) {
        loop {
            // This statement must release the lock before `send`. If the waiter was cancelled, `send` drops the permit,
            // and dropping a permit takes the lock.
            let next = self.state().take_next();
            let Some(Waiter { holder, weight, grant, .. }) = next else { return };
            let _gone = grant.send(FairPermit { semaphore: self.clone(), holder, weight });
        }
    }

    fn state(&self) -> MutexGuard<'_, State<H>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<H: Holder> State<H> {
    /// Removes and returns the next waiter if enough units are free for it. Otherwise no request that arrived later is served,
    /// unless its holder has fewer units, so that small requests cannot starve a large request. Requests that arrived earlier are
    /// served, so that large requests that give up one after another cannot starve a small one.
    fn take_next(&mut self) -> Option<Waiter<H>> {
        self.waiting.retain(|waiter| !waiter.grant.is_closed());
        let held = |waiter: &Waiter<H>| self.held.get(&waiter.holder).copied().unwrap_or_default();
        let may_have = |waiter: &Waiter<H>| held(waiter) + waiter.weight <= self.max_per_holder;
        let candidates = self.waiting.iter().enumerate().filter(|(_, waiter)| may_have(waiter));
        let served = |waiter: &Waiter<H>| {
            let last_grant = self.last_grant.get(&waiter.holder).copied().unwrap_or_default();
            last_grant.max(waiter.since.saturating_sub(REMEMBERED))
        };
        // `min_by_key` returns the first of several minima, which is the waiter that has waited longest.
        let (mut next, first) = candidates.min_by_key(|(_, waiter)| (held(waiter), !waiter.is_next, served(waiter)))?;
        if first.weight > self.free {
            let units = held(first);
            let fits = |earlier: &Waiter<H>| may_have(earlier) && held(earlier) == units && earlier.weight <= self.free;
            let earlier = self.waiting.iter().take(next).position(fits);
            self.waiting[next].is_next = true;
            next = earlier?;
        }
        let waiter = self.waiting.remove(next)?;
        self.free -= waiter.weight;
        *self.held.entry(waiter.holder.clone()).or_default() += waiter.weight;
        self.remember(waiter.holder.clone());
        for other in self.waiting.iter_mut().filter(|other| other.holder == waiter.holder) {
            other.since = self.granted;
        }
        Some(waiter)
    }

    fn remember(&mut self, holder: H) {
        self.granted += 1;
        self.last_grant.insert(holder, self.granted);
        if self.last_grant.len() as u64 > 2 * REMEMBERED {
            let oldest = self.granted - REMEMBERED;
            self.last_grant.retain(|_holder, grant| *grant > oldest);
        }
    }
}

impl<H: Holder> FairPermit<H> {
    /// Returns the units above `weight`, if the permit has more.
    pub(crate) fn shrink_to(&mut self, weight: u64) {
        let kept = self.weight.min(weight);
        let surplus =
            Self { semaphore: self.semaphore.clone(), holder: self.holder.clone(), weight: self.weight - kept };
        self.weight = kept;
        drop(surplus);
    }
}

impl<H: Holder> Drop for FairPermit<H> {
    fn drop(&mut self) {
        {
            let mut state = self.semaphore.state();
            state.free += self.weight;
            if let Some(held) = state.held.get_mut(&self.holder) {
                *held -= self.weight;
                if *held == 0 {
                    state.held.remove(&self.holder);
                }
            }
        }
        self.semaphore.grant();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(name: char) -> AccountId {
        AccountId::parse(&name.to_string().repeat(plinth_spec::id::LENGTH)).unwrap()
    }

    /// Starts a task that acquires units. Returns when the task is queued or has acquired the units.
    async fn queue(gate: &FairSemaphore, name: char, weight: u64) -> tokio::task::JoinHandle<FairPermit> {
        let before = gate.state().waiting.len();
        let (waits, account) = (gate.clone(), account(name));
        let task = tokio::spawn(async move { waits.acquire(&account, weight).await.unwrap() });
        while gate.state().waiting.len() == before && !task.is_finished() {
            tokio::task::yield_now().await;
        }
        task
    }

    #[tokio::test]
    async fn the_account_with_fewest_units_is_next_then_order_of_arrival() {
        let gate = FairSemaphore::new(2, 2);
        let first = gate.acquire(&account('a'), 1).await.unwrap();
        let second = gate.acquire(&account('a'), 1).await.unwrap();
        let (third, fourth) = (queue(&gate, 'a', 1).await, queue(&gate, 'a', 1).await);
        let other = queue(&gate, 'b', 1).await;
        drop(first);
        let other = other.await.unwrap();
        assert!(!third.is_finished() && !fourth.is_finished(), "b came last but holds no units, so it is served first");
        drop(second);
        let third = third.await.unwrap();
        drop((other, third));
        fourth.await.unwrap();
    }

    #[tokio::test]
    async fn accounts_with_equally_many_units_take_turns() {
        let gate = FairSemaphore::new(1, 1);
        let first = gate.acquire(&account('a'), 1).await.unwrap();
        let (second, third) = (queue(&gate, 'a', 1).await, queue(&gate, 'a', 1).await);
        let (other, later) = (queue(&gate, 'b', 1).await, queue(&gate, 'b', 1).await);
        drop(first);
        drop(other.await.unwrap());
        let second = second.await.unwrap();
        assert!(!third.is_finished() && !later.is_finished());
        drop(second);
        let later = later.await.unwrap();
        assert!(!third.is_finished());
        drop(later);
        drop(third.await.unwrap());
        let state = gate.state();
        assert_eq!((state.free, state.held.len()), (1, 0));
    }

    #[test]
    fn the_number_of_remembered_holders_is_limited() {
        let gate = FairSemaphore::<u64>::new(1, 1);
        let mut state = gate.state();
        for holder in 0..10_000 {
            state.remember(holder);
            assert!(state.last_grant.len() as u64 <= 2 * REMEMBERED);
        }
        for holder in 10_000 - REMEMBERED..10_000 {
            assert_eq!(state.last_grant.get(&holder), Some(&(holder + 1)));
        }
    }

    #[tokio::test]
    async fn accounts_are_limited_and_small_requests_do_not_starve_large_ones() {
        let gate = FairSemaphore::new(10, 6);
        let six = gate.acquire(&account('a'), 100).await.unwrap();
        assert_eq!(six.weight, 6);
        let more = queue(&gate, 'a', 1).await;
        let three = gate.acquire(&account('b'), 3).await.unwrap();
        let large = queue(&gate, 'c', 5).await;
        let small = queue(&gate, 'd', 1).await;
        assert!(!more.is_finished() && !large.is_finished() && !small.is_finished());
        drop(three);
        assert!(!large.is_finished(), "4 are free");
        drop(six);
        let (large, small) = (large.await.unwrap(), small.await.unwrap());
        more.await.unwrap();
        drop((large, small));
        let state = gate.state();
        assert_eq!((state.free, state.held.len()), (10, 0));
    }

    #[tokio::test]
    async fn a_large_request_is_not_overtaken_by_later_ones_of_accounts_that_were_not_served_before() {
        let gate = FairSemaphore::new(10, 6);
        drop(gate.acquire(&account('c'), 1).await.unwrap());
        let six = gate.acquire(&account('a'), 6).await.unwrap();
        let large = queue(&gate, 'c', 5).await;
        let small = queue(&gate, 'd', 1).await;
        assert!(!large.is_finished() && !small.is_finished(), "4 are free");
        drop(six);
        large.await.unwrap();
        small.await.unwrap();
    }

    #[tokio::test]
    async fn a_limited_number_of_holders_that_were_not_served_before_overtakes_one_that_waits() {
        let gate = FairSemaphore::<u32>::new(1, 1);
        let request = |holder: u32| {
            let gate = gate.clone();
            tokio::spawn(async move { gate.acquire(&holder, 1).await.unwrap() })
        };
        let mut permit = gate.acquire(&0, 1).await.unwrap();
        let mut waits = request(0);
        let mut overtakers = 0;
        let mut next = request(1);
        loop {
            // When a permit is granted, two others wait, one of which arrives after each grant.
            let later = request(overtakers + 2);
            tokio::task::yield_now().await;
            drop(permit);
            tokio::select! {
                _served = &mut waits => break,
                other = next => permit = other.unwrap(),
            }
            overtakers += 1;
            assert!(u64::from(overtakers) <= REMEMBERED + 1);
            next = later;
        }
        assert!(overtakers > 1);
    }

    #[tokio::test]
    async fn more_holders_than_are_remembered_take_turns() {
        const HOLDERS: u64 = 3 * REMEMBERED;
        let gate = FairSemaphore::<u64>::new(1, 1);
        let (sender, mut permits) = tokio::sync::mpsc::unbounded_channel();
        let request = |holder: u64| {
            let (gate, sender) = (gate.clone(), sender.clone());
            tokio::spawn(async move { sender.send((holder, gate.acquire(&holder, 1).await.unwrap())).unwrap() });
        };
        for holder in (0..HOLDERS).flat_map(|holder| [holder; 5]) {
            request(holder);
        }
        for _ in 0..HOLDERS + HOLDERS / 2 {
            drop(permits.recv().await.unwrap());
        }
        let new = HOLDERS;
        request(new);
        let mut served = 0;
        while permits.recv().await.unwrap().0 != new {
            served += 1;
        }
        // One of them had the permit already.
        assert!(served <= HOLDERS + 1, "{served}");
    }

    #[tokio::test]
    async fn a_smaller_permit_leaves_the_rest_to_those_who_wait() {
        let gate = FairSemaphore::new(10, 6);
        let mut permit = gate.acquire(&account('a'), 6).await.unwrap();
        let (own, other) = (queue(&gate, 'a', 4).await, queue(&gate, 'b', 6).await);
        permit.shrink_to(7);
        assert!(!own.is_finished() && !other.is_finished() && permit.weight == 6);
        permit.shrink_to(2);
        let other = other.await.unwrap();
        assert!(!own.is_finished(), "the other account has less, so it comes first, and 2 units are free");
        permit.shrink_to(0);
        drop((own.await.unwrap(), other, permit));
        let state = gate.state();
        assert_eq!((state.free, state.held.len()), (10, 0));
    }

    #[tokio::test]
    async fn a_cancelled_waiter_lets_those_behind_it_pass() {
        let gate = FairSemaphore::new(10, 6);
        let _six = gate.acquire(&account('a'), 6).await.unwrap();
        let large = queue(&gate, 'c', 5).await;
        let small = queue(&gate, 'd', 1).await;
        assert!(!small.is_finished());
        large.abort();
        assert!(large.await.unwrap_err().is_cancelled());
        small.await.unwrap();
    }

    #[tokio::test]
    async fn large_requests_that_give_up_do_not_hold_back_an_earlier_one() {
        let gate = FairSemaphore::new(10, 6);
        drop(gate.acquire(&account('c'), 1).await.unwrap());
        let _six = gate.acquire(&account('a'), 6).await.unwrap();
        let large = queue(&gate, 'b', 5).await;
        let small = queue(&gate, 'c', 1).await;
        let later = queue(&gate, 'd', 5).await;
        assert!(!small.is_finished(), "the large request came before it");
        large.abort();
        assert!(large.await.unwrap_err().is_cancelled());
        small.await.unwrap();
        assert!(!later.is_finished());
    }

    #[tokio::test]
    async fn a_cancelled_waiter_leaves_the_queue() {
        let gate = FairSemaphore::new(1, 1);
        let held = gate.acquire(&account('a'), 1).await.unwrap();
        let gone = queue(&gate, 'b', 1).await;
        let next = queue(&gate, 'c', 1).await;
        gone.abort();
        assert!(gone.await.unwrap_err().is_cancelled());
        drop(held);
        next.await.unwrap();
    }
}
