//! Recognizes processes that died because memory could not be allocated.

/// Returns whether a program's last output says that it ran out of memory.
pub fn is_out_of_memory(output: &str) -> bool {
    // Messages of the Rust standard library: of an aborted allocation, and of reading a file.
    output.contains("memory allocation of ") || output.contains("out of memory")
}
