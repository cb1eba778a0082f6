//! The rules of the house, with their transactions; one use case per file.
