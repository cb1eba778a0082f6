//! The pace of orders, which depends on the strikes.

use tokio::sync::watch;

/// Tells the orders that strikes begin. Dropping it lets all orders start.
pub(in crate::serve) struct Begun(watch::Sender<usize>);

/// Delays orders, so that some orders are in progress at each strike.
pub(in crate::serve) struct Pace {
    strikes: watch::Receiver<usize>,
    orders_per_strike: usize,
}

/// Creates the two ends of a pace.
pub(in crate::serve) fn pace(orders_per_strike: usize) -> (Begun, Pace) {
    let (begun, strikes) = watch::channel(0);
    (Begun(begun), Pace { strikes, orders_per_strike })
}

impl Begun {
    /// Says that another strike begins.
    pub(in crate::serve) fn one_more(&self) {
        self.0.send_modify(|strikes| *strikes += 1);
    }
}

impl Pace {
    /// Waits until the order with this number may start.
    pub(in crate::serve) async fn until(&self, order: usize) {
        let mut strikes = self.strikes.clone();
        // An error means that all strikes are over, so every order may start.
        let _over = strikes.wait_for(|strikes| order <= strikes * self.orders_per_strike).await;
    }
}
