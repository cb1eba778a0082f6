//! Multipart forms, written by hand.

const BOUNDARY: &str = "a-boundary-that-no-test-file-has";

/// A multipart form.
#[derive(Default)]
pub(crate) struct Form(Vec<u8>);

impl Form {
    pub(crate) fn text(self, name: &str, value: &str) -> Self {
        self.part(&format!("name=\"{name}\""), value.as_bytes())
    }

    pub(crate) fn file(self, name: &str, file_name: &str, bytes: &[u8]) -> Self {
        self.part(&format!("name=\"{name}\"; filename=\"{file_name}\""), bytes)
    }

    fn part(mut self, facts: &str, bytes: &[u8]) -> Self {
        self.0.extend(format!("--{BOUNDARY}\r\nContent-Disposition: form-data; {facts}\r\n\r\n").bytes());
        self.0.extend(bytes);
        self.0.extend(b"\r\n");
        self
    }

    pub(crate) fn content_type() -> String {
        format!("multipart/form-data; boundary={BOUNDARY}")
    }

    pub(crate) fn body(mut self) -> Vec<u8> {
        self.0.extend(format!("--{BOUNDARY}--\r\n").bytes());
        self.0
    }
}
