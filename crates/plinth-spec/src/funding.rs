//! Decides which credit pool pays for renders: the paid pool, the free pool, or neither.

use crate::named::named;

named! {
    /// A pool of credits.
    Pool {
        /// Ordinary credits, from the signup bonus and from purchases.
        Paid = "paid",
        /// Credits of the legacy free pool. If this pool pays for a render, the render is watermarked.
        Free = "free",
    }
}

/// Credits of an account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Balance {
    /// Ordinary credits.
    pub paid: u64,
    /// Credits of the free pool.
    pub free: u64,
}

/// The cost of a render.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Price in credits, at least 1.
    pub credits: u64,
    /// Whether only the paid pool may pay. This is the setting `strictCredits`.
    pub strict: bool,
}

/// Error that occurs if the balance does not cover the cost of a render.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("item {item} costs {credits} credits; {} paid and {} free credits are left for it", left.paid, left.free)]
pub struct Shortage {
    /// Index of the first cost that neither pool covers.
    pub item: usize,
    /// Price of this item, in credits.
    pub credits: u64,
    /// Balance that is left after all previous items were paid.
    pub left: Balance,
}

impl Balance {
    /// Returns the sum of paid and free credits.
    pub const fn total(self) -> u64 {
        self.paid.saturating_add(self.free)
    }

    const fn pool(&mut self, pool: Pool) -> &mut u64 {
        match pool {
            Pool::Paid => &mut self.paid,
            Pool::Free => &mut self.free,
        }
    }
}

/// Decides for each cost, in order, which pool pays. The paid pool pays if it covers the whole cost. Otherwise the free
/// pool pays if it covers the whole cost and `strict` is false. A cost is never split between the pools.
/// Errors: the first cost that neither pool can pay.
// Source: Spec, Create-render rules, 3 and 6.
pub fn decide(mut left: Balance, costs: &[Cost]) -> Result<Vec<Pool>, Shortage> {
    costs
        .iter()
        .enumerate()
        .map(|(item, cost)| {
            let pool = if left.paid >= cost.credits {
                Pool::Paid
            } else if !cost.strict && left.free >= cost.credits {
                Pool::Free
            } else {
                return Err(Shortage { item, credits: cost.credits, left });
            };
            *left.pool(pool) -= cost.credits;
            Ok(pool)
        })
        .collect()
}

/// Returns the total that each pool pays. `pools` must be the result of [`decide`] for the same costs.
pub fn charged(costs: &[Cost], pools: &[Pool]) -> Balance {
    let mut sum = Balance::default();
    for (cost, pool) in costs.iter().zip(pools) {
        *sum.pool(*pool) += cost.credits;
    }
    sum
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const fn cost(credits: u64, strict: bool) -> Cost {
        Cost { credits, strict }
    }

    #[test]
    fn the_paid_balance_pays_first() {
        assert_eq!(decide(Balance { paid: 24, free: 24 }, &[cost(24, false)]), Ok(vec![Pool::Paid]));
    }

    #[test]
    fn the_free_pool_pays_only_when_it_covers_the_whole_cost() {
        let balance = Balance { paid: 23, free: 24 };
        assert_eq!(decide(balance, &[cost(24, false)]), Ok(vec![Pool::Free]));
        assert_eq!(decide(Balance { paid: 20, free: 20 }, &[cost(24, false)]).unwrap_err().credits, 24);
    }

    #[test]
    fn a_strict_render_is_never_paid_by_the_free_pool() {
        assert!(decide(Balance { paid: 23, free: 1000 }, &[cost(24, true)]).is_err());
    }

    #[test]
    fn a_strict_item_that_only_the_free_pool_covers_fails_the_batch() {
        let balance = Balance { paid: 24, free: 1000 };
        let shortage = decide(balance, &[cost(24, false), cost(24, true)]).unwrap_err();
        assert_eq!((shortage.item, shortage.left), (1, Balance { paid: 0, free: 1000 }));
        assert!(decide(balance, &[cost(24, true), cost(24, false)]).is_ok());
    }

    proptest! {
        #[test]
        fn no_pool_ever_pays_more_than_it_has(
            paid in 0u64..200, free in 0u64..200,
            costs in prop::collection::vec((1u64..60, any::<bool>()), 0..12),
        ) {
            let balance = Balance { paid, free };
            let costs: Vec<Cost> = costs.into_iter().map(|(c, s)| cost(c, s)).collect();
            if let Ok(pools) = decide(balance, &costs) {
                let sum = charged(&costs, &pools);
                prop_assert!(sum.paid <= paid && sum.free <= free);
                prop_assert_eq!(sum.total(), costs.iter().map(|c| c.credits).sum::<u64>());
                let free_and_strict = costs.iter().zip(&pools).any(|(c, p)| c.strict && *p == Pool::Free);
                prop_assert!(!free_and_strict);
            }
        }
    }
}
