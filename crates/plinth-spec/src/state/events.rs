//! Declares the events of a state machine.

/// Declares the events that change a state, and the transitions of each event:
/// `events! { /// Docs. Event of Status { /// Docs. Claim = "claim": Pending | Lost => Processing, Paused => Resumed; } }`
/// says that the event `Claim` changes the states `Pending` and `Lost` to `Processing`, and `Paused` to `Resumed`. Any other
/// pair of state and event is not allowed.
macro_rules! events {
    ($(#[doc = $doc:literal])* $event:ident of $status:ident {
        $($(#[doc = $on_doc:literal])* $on:ident = $text:literal: $($($from:ident)|+ => $to:ident),+;)*
    }) => {
        $crate::named::named! { $(#[doc = $doc])* $event { $($(#[doc = $on_doc])* $on = $text,)* } }

        impl $status {
            /// Returns the state after an event, or `None` if the event is not allowed in this state.
            pub const fn after(self, event: $event) -> Option<Self> {
                match event {
                    $($event::$on => match self {
                        $($(Self::$from)|+ => Some(Self::$to),)+
                        _ => None,
                    },)*
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
pub(super) use events;
