//! Dev only: throw-away databases and object stores, small models.
