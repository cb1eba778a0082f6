//! The pages for administrators of the installation. Everybody else gets the status 404.

pub(crate) mod account;
pub(crate) mod account_actions;
pub(crate) mod accounts;
pub(crate) mod assets;
mod chart;
mod labels;
pub(crate) mod log;
pub(crate) mod overview;

use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use plinth_service::admin::Actor;

use crate::error::{PageError, Result};
use crate::session::CurrentUser;

/// Middleware that responds with the status 404 to requests of everybody but administrators, independent of the request's
/// method and form fields.
pub(crate) async fn only_for_admins(user: Option<CurrentUser>, request: Request, next: Next) -> Response {
    if user.is_some_and(|user| user.caller().is_admin) {
        return next.run(request).await;
    }
    PageError::not_found().into_response()
}

fn actor(user: &CurrentUser) -> Result<Actor> {
    Ok(Actor::of(user.caller())?)
}

/// Returns the reason that the administrator gave for an action.
/// Errors: the reason is empty.
fn required(reason: String) -> Result<String> {
    if reason.trim().is_empty() {
        return Err(PageError::new(StatusCode::BAD_REQUEST, "give a reason, which the log will show"));
    }
    Ok(reason)
}

/// Returns the offsets of the pages with newer and with older rows; `None` for a page that does not exist. The caller reads
/// one row more than a page has. If `rows` contains this additional row, there is a page with older rows, and the row is
/// removed.
fn neighbour_offsets<T>(rows: &mut Vec<T>, offset: u64, size: u32) -> (Option<u64>, Option<u64>) {
    let has_more = rows.len() > size as usize;
    rows.truncate(size as usize);
    let step = u64::from(size);
    ((offset > 0).then(|| offset.saturating_sub(step)), has_more.then(|| offset + step))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_leads_to_its_neighbours() {
        let cases =
            [(3, 0, (None, None)), (4, 0, (None, Some(3))), (4, 3, (Some(0), Some(6))), (1, 2, (Some(0), None))];
        for (rows, offset, expected) in cases {
            let mut rows = vec![(); rows];
            assert_eq!(neighbour_offsets(&mut rows, offset, 3), expected);
            assert!(rows.len() <= 3);
        }
    }
}
