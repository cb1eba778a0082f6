//! A simple encoder for multipart forms.

const BOUNDARY: &str = "a-boundary-that-no-test-file-has";

/// The body of a multipart form.
#[derive(Clone, Default)]
pub struct Form(Vec<u8>);

impl Form {
    /// Adds a text field.
    #[must_use]
    pub fn text(self, name: &str, value: &str) -> Self {
        self.part(&format!("name=\"{name}\""), value.as_bytes())
    }

    /// Adds a file.
    #[must_use]
    pub fn file(self, name: &str, file_name: &str, bytes: &[u8]) -> Self {
        self.part(&format!("name=\"{name}\"; filename=\"{file_name}\""), bytes)
    }

    fn part(mut self, facts: &str, bytes: &[u8]) -> Self {
        self.0.extend(head_of_part(facts).bytes());
        self.0.extend(bytes);
        self.0.extend(b"\r\n");
        self
    }

    /// Returns the value of the header `Content-Type`.
    pub fn content_type() -> String {
        format!("multipart/form-data; boundary={BOUNDARY}")
    }

    /// Returns the encoded body.
    pub fn body(mut self) -> Vec<u8> {
        self.0.extend(end().bytes());
        self.0
    }

    /// Returns the bytes before and after the content of a file. A test can send them around the content of a file that
    /// does not fit into memory.
    pub fn around_file(name: &str, file_name: &str) -> (Vec<u8>, Vec<u8>) {
        let head = head_of_part(&format!("name=\"{name}\"; filename=\"{file_name}\""));
        (head.into_bytes(), format!("\r\n{}", end()).into_bytes())
    }
}

fn head_of_part(facts: &str) -> String {
    format!("--{BOUNDARY}\r\nContent-Disposition: form-data; {facts}\r\n\r\n")
}

fn end() -> String {
    format!("--{BOUNDARY}--\r\n")
}
