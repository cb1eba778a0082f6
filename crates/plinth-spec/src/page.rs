//! Pagination of lists by limit, offset and cursor.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::limits;

/// The start of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Start {
    /// The number of rows to skip.
    Offset(u64),
    /// The row after which the page starts; `None` for the first page. The page was requested by cursor.
    After(Option<Position>),
}

/// The position of a row in a list. Lists are ordered by creation time, newest first, and then by ID.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// Creation time of the row, in Unix milliseconds.
    pub created_at_ms: i64,
    /// ID of the row.
    pub id: String,
}

/// A requested page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageRequest {
    /// Maximum number of rows.
    pub limit: u32,
    /// Start of the page.
    pub start: Start,
}

/// An error in the query parameters of a page.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PageError {
    /// `limit` is not an integer in the allowed range.
    #[error("limit must be a whole number from 1 to {max}, not '{0}'", max = limits::PAGE_MAX)]
    Limit(String),
    /// `offset` is negative, too large, or not an integer.
    #[error("offset must be a whole number from 0, not '{0}'")]
    Offset(String),
    /// `cursor` is malformed, or was created for a list with other filters.
    #[error("the cursor is not valid for this list; start again with an empty cursor")]
    Cursor,
}

impl PageRequest {
    /// Parses the query parameters of a page. `filters` contains all other query parameters of the list. A cursor is
    /// only valid together with the filters for which it was created.
    /// Errors: if a parameter is malformed or out of range.
    pub fn parse(
        limit: Option<&str>,
        offset: Option<&str>,
        cursor: Option<&str>,
        filters: &str,
    ) -> Result<Self, PageError> {
        let limit = limit.map_or(Ok(limits::PAGE_DEFAULT), |text| {
            let value = text.parse().ok().filter(|n| (1..=limits::PAGE_MAX).contains(n));
            value.ok_or_else(|| PageError::Limit(text.chars().take(40).collect()))
        })?;
        let start = match cursor {
            Some("") => Start::After(None),
            Some(text) => Start::After(Some(position_from_cursor(text, filters).ok_or(PageError::Cursor)?)),
            None => Start::Offset(offset.map_or(Ok(0), |text| {
                let value = text.parse().ok().filter(|n| *n <= limits::OFFSET_MAX);
                value.ok_or_else(|| PageError::Offset(text.chars().take(40).collect()))
            })?),
        };
        Ok(Self { limit, start })
    }
}

/// Encodes a cursor for the page that starts after `position`.
pub fn cursor_from_position(position: &Position, filters: &str) -> String {
    URL_SAFE_NO_PAD.encode(format!("1.{}.{}.{}", position.created_at_ms, position.id, fingerprint(filters)))
}

fn position_from_cursor(cursor: &str, filters: &str) -> Option<Position> {
    let text = String::from_utf8(URL_SAFE_NO_PAD.decode(cursor).ok()?).ok()?;
    let mut parts = text.split('.');
    let (version, time, id, print) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let valid = version == "1" && print == fingerprint(filters) && parts.next().is_none();
    (valid && crate::id::is_well_formed(id))
        .then(|| Some(Position { created_at_ms: time.parse().ok()?, id: id.to_owned() }))?
}

fn fingerprint(filters: &str) -> String {
    let [a, b, c, d, ..] = <[u8; 32]>::from(Sha256::digest(filters));
    format!("{:08x}", u32::from_be_bytes([a, b, c, d]))
}

/// Metadata of a page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(untagged)]
pub enum PageMeta {
    /// Metadata of a page that was requested by offset.
    Offset {
        /// Number of rows in the whole list.
        total: u64,
        /// True if `total` is an estimate, because counting all rows would take too long; otherwise absent. As long as rows follow
        /// the page, an estimate is larger than the number of rows up to the end of the page.
        #[serde(rename = "totalIsEstimate", skip_serializing_if = "Option::is_none")]
        total_is_estimate: Option<bool>,
        /// Number of rows before this page.
        offset: u64,
        /// Maximum number of rows on the page.
        limit: u32,
    },
    /// Metadata of a page that was requested by cursor.
    Cursor {
        /// Maximum number of rows on the page.
        limit: u32,
        /// Value of `cursor` for the next page; null on the last page.
        #[serde(rename = "nextCursor")]
        #[schema(required)]
        next_cursor: Option<String>,
    },
}

/// The number of rows in a list, on all pages together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Total {
    /// Number of rows.
    pub rows: u64,
    /// Whether the list may contain another number of rows, because not all were counted.
    pub is_estimate: bool,
}

impl Total {
    /// Returns the total of a list whose rows were all counted.
    pub const fn exact(rows: u64) -> Self {
        Self { rows, is_estimate: false }
    }

    /// Returns the total of a list whose rows were not all counted.
    pub const fn estimate(rows: u64) -> Self {
        Self { rows, is_estimate: true }
    }
}

/// A page that was requested by offset, after its rows were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OffsetPage {
    /// Number of rows before the page.
    pub offset: u64,
    /// Maximum number of rows on the page.
    pub limit: u32,
    /// Number of rows on the page.
    pub rows: u64,
}

impl OffsetPage {
    /// Returns the total of the list if the list ends on this page. Returns `None` if the page is full or begins after the end of
    /// the list, because then the page does not show where the list ends.
    pub fn total_if_last(&self) -> Option<Total> {
        let is_last = self.rows < u64::from(self.limit) && (self.rows > 0 || self.offset == 0);
        is_last.then(|| Total::exact(self.offset + self.rows))
    }

    /// Returns the metadata of the page. Corrects an estimate that contradicts the page: a client that requests pages until it
    /// has `total` rows gets all rows, even if the estimate was too small.
    pub fn meta(&self, total: Total) -> PageMeta {
        let rows = match total {
            Total { rows, is_estimate: false } => rows,
            Total { rows, .. } if self.rows == 0 => rows.min(self.offset),
            Total { rows, .. } => rows.max(self.offset + self.rows + 1),
        };
        let total_is_estimate = total.is_estimate.then_some(true);
        PageMeta::Offset { total: rows, total_is_estimate, offset: self.offset, limit: self.limit }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn limits_range_from_1_to_100() {
        let limit = |text| PageRequest::parse(Some(text), None, None, "").map(|p| p.limit);
        assert_eq!(PageRequest::parse(None, None, None, "").unwrap().limit, 50);
        assert_eq!((limit("1"), limit("100")), (Ok(1), Ok(100)));
        for bad in ["0", "101", "-1", "1.5", "x", ""] {
            assert!(limit(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn offsets_range_from_0_to_the_largest_number_of_the_database() {
        let start = |text| PageRequest::parse(None, Some(text), None, "").map(|page| page.start);
        assert_eq!((start("0"), start("7")), (Ok(Start::Offset(0)), Ok(Start::Offset(7))));
        assert_eq!(start("9223372036854775807"), Ok(Start::Offset(9_223_372_036_854_775_807)));
        for bad in ["9223372036854775808", "-1", "1.5", "x", ""] {
            assert!(start(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_empty_cursor_starts_at_the_first_row_and_ignores_the_offset() {
        let page = PageRequest::parse(None, Some("nonsense"), Some(""), "").unwrap();
        assert_eq!(page.start, Start::After(None));
    }

    #[test]
    fn a_page_that_is_not_full_shows_the_total() {
        let total = |offset, rows| OffsetPage { offset, limit: 50, rows }.total_if_last();
        assert_eq!([total(0, 0), total(0, 49), total(100, 1)], [0, 49, 101].map(|rows| Some(Total::exact(rows))));
        assert_eq!([total(0, 50), total(100, 50), total(100, 0)], [None; 3]);
    }

    #[test]
    fn an_estimated_total_is_marked_and_agrees_with_the_page() {
        let meta =
            |offset, rows, total| serde_json::to_string(&OffsetPage { offset, limit: 50, rows }.meta(total)).unwrap();
        let estimate = Total::estimate(10_001);
        assert_eq!(meta(0, 50, estimate), r#"{"total":10001,"totalIsEstimate":true,"offset":0,"limit":50}"#);
        // More rows may follow a full page, and none follow an empty page.
        assert_eq!(meta(20_000, 50, estimate), r#"{"total":20051,"totalIsEstimate":true,"offset":20000,"limit":50}"#);
        assert_eq!(meta(500, 0, estimate), r#"{"total":500,"totalIsEstimate":true,"offset":500,"limit":50}"#);
        assert_eq!(meta(500, 0, Total::exact(7)), r#"{"total":7,"offset":500,"limit":50}"#);
    }

    #[test]
    fn a_cursor_of_another_list_is_rejected() {
        let position = Position { created_at_ms: 7, id: "k3Jd92LmQx7a".to_owned() };
        let cursor = cursor_from_position(&position, "status=active");
        assert!(PageRequest::parse(None, None, Some(&cursor), "status=active").is_ok());
        assert_eq!(PageRequest::parse(None, None, Some(&cursor), "status=any"), Err(PageError::Cursor));
    }

    proptest! {
        #[test]
        fn a_cursor_round_trips_its_position(time in any::<i64>(), id in "[0-9A-Za-z]{12}", filters in ".{0,20}") {
            let position = Position { created_at_ms: time, id };
            let cursor = cursor_from_position(&position, &filters);
            let page = PageRequest::parse(None, None, Some(&cursor), &filters).unwrap();
            prop_assert_eq!(page.start, Start::After(Some(position)));
        }

        #[test]
        fn parsing_an_arbitrary_cursor_does_not_panic(text in ".{0,80}") {
            let _any = PageRequest::parse(None, None, Some(&text), "");
        }
    }
}
