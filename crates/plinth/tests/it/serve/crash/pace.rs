//! Delays orders, so that some of them are in progress at each injected fault.

use tokio::sync::watch;

/// Signals the start of each fault to the waiting orders. When it is dropped, all orders may start.
pub(in crate::serve) struct Begun(watch::Sender<usize>);

/// Delays orders until enough faults have begun.
pub(in crate::serve) struct Pace {
    strikes: watch::Receiver<usize>,
    orders_per_strike: usize,
}

/// Returns a [`Begun`] and the [`Pace`] that it controls.
pub(in crate::serve) fn pace(orders_per_strike: usize) -> (Begun, Pace) {
    let (begun, strikes) = watch::channel(0);
    (Begun(begun), Pace { strikes, orders_per_strike })
}

impl Begun {
    /// Signals that another fault begins.
    pub(in crate::serve) fn one_more(&self) {
        self.0.send_modify(|strikes| *strikes += 1);
    }
}

impl Pace {
    /// Waits until the order with this number may start.
    pub(in crate::serve) async fn until(&self, order: usize) {
        let mut strikes = self.strikes.clone();
        // An error means that all faults are over, so every order may start.
        let _over = strikes.wait_for(|strikes| order <= strikes * self.orders_per_strike).await;
    }
}
