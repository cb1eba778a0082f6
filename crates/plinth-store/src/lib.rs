//! Blobs: one object interface on local files and S3.
