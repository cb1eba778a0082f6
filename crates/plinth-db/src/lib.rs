//! Typed tables on SQLite and PostgreSQL: mechanism, no policy.
