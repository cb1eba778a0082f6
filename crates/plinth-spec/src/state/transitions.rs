//! Declares the transitions of a state machine.

/// Declares the transitions of a state machine: `transitions!(Status, Event: Pending, Claim => Processing;)` says that
/// the event `Claim` changes the state `Pending` to `Processing`. Any other pair of state and event is not allowed.
macro_rules! transitions {
    ($status:ident, $event:ident: $($($from:ident)|+, $on:ident => $to:ident;)*) => {
        impl $status {
            /// Returns the state after an event, or `None` if the event is not allowed in this state.
            pub const fn after(self, event: $event) -> Option<Self> {
                match (self, event) {
                    $(($(Self::$from)|+, $event::$on) => Some(Self::$to),)*
                    _ => None,
                }
            }
        }

        impl $event {
            /// Returns the transitions of the event, as pairs of the old and the new state.
            pub fn moves(self) -> impl Iterator<Item = ($status, $status)> {
                $status::ALL.iter().filter_map(move |from| Some((*from, from.after(self)?)))
            }
        }

        /// Returns all transitions as the names of the event, the old and the new state.
        #[cfg(test)]
        fn transition_names() -> Vec<(&'static str, &'static str, &'static str)> {
            let of = |event: &$event| {
                let event = *event;
                event.moves().map(move |(from, to)| (event.as_str(), from.as_str(), to.as_str()))
            };
            $event::ALL.iter().flat_map(of).collect()
        }
    };
}
pub(super) use transitions;
