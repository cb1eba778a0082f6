//! A semaphore that accounts share: whoever holds least of it comes next.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use plinth_spec::id::AccountId;
use tokio::sync::oneshot;

use crate::error::{Result, ServiceError};

/// A semaphore with weighted permits. Of the accounts that wait, the one that holds the least gets the next permit; within
/// an account, first come, first served. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct FairSemaphore(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    free: u64,
    /// Most that one account holds, whether others wait or not.
    most_per_account: u64,
    held: HashMap<AccountId, u64>,
    /// In the order in which they came.
    waiting: VecDeque<Waiter>,
}

#[derive(Debug)]
struct Waiter {
    account: AccountId,
    weight: u64,
    grant: oneshot::Sender<FairPermit>,
}

/// A part of a semaphore, until it is dropped.
#[derive(Debug)]
pub(crate) struct FairPermit {
    semaphore: FairSemaphore,
    account: AccountId,
    weight: u64,
}

impl FairSemaphore {
    /// A semaphore with `capacity` units, of which one account holds at most `most_per_account`.
    pub(crate) fn new(capacity: u64, most_per_account: u64) -> Self {
        let most_per_account = most_per_account.min(capacity);
        let state = State { free: capacity, most_per_account, held: HashMap::new(), waiting: VecDeque::new() };
        Self(Arc::new(Mutex::new(state)))
    }

    /// Waits for `weight` units, or for as much as one account may hold where that is less.
    pub(crate) async fn acquire(&self, account: &AccountId, weight: u64) -> Result<FairPermit> {
        let (grant, granted) = oneshot::channel();
        {
            let mut state = self.state();
            let weight = weight.min(state.most_per_account);
            state.waiting.push_back(Waiter { account: account.clone(), weight, grant });
        }
        self.grant();
        granted.await.map_err(ServiceError::internal)
    }

    /// Gives out what is free.
    fn grant(&self) {
        loop {
            // The lock ends with this statement: a waiter that went away meanwhile drops its permit below.
            let next = self.state().take_next();
            let Some(Waiter { account, weight, grant }) = next else { return };
            let _gone = grant.send(FairPermit { semaphore: self.clone(), account, weight });
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Takes the waiter who is next from the queue, if there is enough for it. A large one is not overtaken for ever by
    /// small ones: what is next is waited for.
    fn take_next(&mut self) -> Option<Waiter> {
        self.waiting.retain(|waiter| !waiter.grant.is_closed());
        let held = |waiter: &Waiter| self.held.get(&waiter.account).copied().unwrap_or_default();
        let may_have = |waiter: &Waiter| held(waiter) + waiter.weight <= self.most_per_account;
        let candidates = self.waiting.iter().enumerate().filter(|(_, waiter)| may_have(waiter));
        // The first of equal ones has waited longest.
        let (next, _) = candidates.min_by_key(|(_, waiter)| held(waiter))?;
        let waiter = if self.waiting[next].weight <= self.free { self.waiting.remove(next)? } else { return None };
        self.free -= waiter.weight;
        *self.held.entry(waiter.account.clone()).or_default() += waiter.weight;
        Some(waiter)
    }
}

impl Drop for FairPermit {
    fn drop(&mut self) {
        {
            let mut state = self.semaphore.state();
            state.free += self.weight;
            if let Some(held) = state.held.get_mut(&self.account) {
                *held -= self.weight;
                if *held == 0 {
                    state.held.remove(&self.account);
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

    /// Starts a wait and returns when it stands in the queue.
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
    async fn whoever_holds_least_comes_next_and_else_who_came_first() {
        let gate = FairSemaphore::new(2, 2);
        let first = gate.acquire(&account('a'), 1).await.unwrap();
        let second = gate.acquire(&account('a'), 1).await.unwrap();
        let (third, fourth) = (queue(&gate, 'a', 1).await, queue(&gate, 'a', 1).await);
        let other = queue(&gate, 'b', 1).await;
        drop(first);
        let other = other.await.unwrap();
        assert!(!third.is_finished() && !fourth.is_finished(), "b came last and holds nothing");
        drop(second);
        let third = third.await.unwrap();
        drop((other, third));
        fourth.await.unwrap();
    }

    #[tokio::test]
    async fn an_account_leaves_a_part_to_others_and_small_ones_do_not_overtake_for_ever() {
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
    async fn who_goes_away_leaves_the_queue() {
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
