//! Timestamps in JSON.

use serde::{Serialize, Serializer};

/// A point in time. It is stored as milliseconds since 1970 (Unix time), and serialized as ISO 8601 in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, utoipa::ToSchema)]
#[schema(value_type = String, format = DateTime, examples("2026-11-21T09:30:00.250Z"))]
pub struct Timestamp(pub i64);

/// The error for a string that is not an ISO 8601 timestamp.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a timestamp such as 2026-11-21T09:30:00Z")]
pub struct TimestampError(String);

impl Timestamp {
    /// Parses ISO 8601. A time without an offset is in UTC. A date without a time means midnight.
    /// Errors: if the string is not an ISO 8601 timestamp.
    pub fn parse(text: &str) -> Result<Self, TimestampError> {
        let instant = text.parse::<jiff::Timestamp>().ok();
        let in_utc = || jiff::tz::TimeZone::UTC.to_timestamp(text.parse::<jiff::civil::DateTime>().ok()?).ok();
        let instant = instant.or_else(in_utc).ok_or_else(|| TimestampError(text.chars().take(40).collect()))?;
        Ok(Self(instant.as_millisecond()))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let instant = jiff::Timestamp::from_millisecond(self.0).map_err(serde::ser::Error::custom)?;
        serializer.collect_str(&format_args!("{instant:.3}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_iso_8601_in_utc_with_milliseconds() {
        assert_eq!(serde_json::to_string(&Timestamp(1_500)).unwrap(), "\"1970-01-01T00:00:01.500Z\"");
        assert_eq!(serde_json::to_string(&Timestamp(0)).unwrap(), "\"1970-01-01T00:00:00.000Z\"");
    }

    #[test]
    fn offsets_z_and_dates_are_read_and_nothing_else() {
        assert_eq!(Timestamp::parse("1970-01-01T01:00:00+01:00"), Ok(Timestamp(0)));
        assert_eq!(Timestamp::parse("1970-01-01T00:00:01.5Z"), Ok(Timestamp(1_500)));
        assert_eq!(Timestamp::parse("1970-01-02"), Ok(Timestamp(86_400_000)));
        assert_eq!(Timestamp::parse("1970-01-02T00:00:00"), Ok(Timestamp(86_400_000)));
        for bad in ["", "yesterday", "0", "2026-13-01T00:00:00Z"] {
            assert!(Timestamp::parse(bad).is_err(), "{bad}");
        }
    }
}
