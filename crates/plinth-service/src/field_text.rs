//! Long texts in fields of forms. A long text is written to a file while the form arrives, and memory is reserved when the
//! text is read from the file. Therefore a client that sends a form slowly does not occupy memory.

use plinth_spec::limits;
use tokio::fs::read;

use crate::access::Caller;
use crate::body_memory::BodyMemory;
use crate::error::Result;
use crate::models::Incoming;
use crate::service::Service;

/// The text of a form field, as bytes.
#[derive(Debug, Default)]
pub struct FieldText {
    /// The whole text; empty if the text is in `file`.
    bytes: Vec<u8>,
    file: Option<Incoming>,
}

impl FieldText {
    /// Appends a chunk.
    /// Errors: `file_too_large` if the text has more than `limit` bytes.
    pub async fn write(&mut self, service: &Service, bytes: &[u8], limit: usize) -> Result<()> {
        if let Some(file) = &mut self.file {
            return file.write(bytes).await;
        }
        self.bytes.extend_from_slice(bytes);
        if self.bytes.len() > limits::JSON_SMALL_BYTES {
            let mut file = service.incoming_text(limit)?;
            file.write(&std::mem::take(&mut self.bytes)).await?;
            self.file = Some(file);
        }
        Ok(())
    }

    /// Returns the whole text, and the reservation of memory for processing it.
    /// Errors: those of [`Service::json_memory`].
    pub async fn read(self, service: &Service, caller: &Caller) -> Result<(Vec<u8>, BodyMemory)> {
        let Some(file) = self.file else { return Ok((self.bytes, BodyMemory::none())) };
        let size = usize::try_from(file.size()).unwrap_or(usize::MAX);
        let mut memory = service.json_memory(caller, size, limits::JSON_VALUES).await?;
        let text = read(file.finish().await?.path()).await?;
        memory.shrink_to(&text);
        Ok((text, memory))
    }
}
