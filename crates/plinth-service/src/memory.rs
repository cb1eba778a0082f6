//! Recognizes that a process died because it ran out of memory.

/// Returns whether the last output of a process says that the process ran out of memory.
pub fn is_out_of_memory(output: &str) -> bool {
    // Messages of the Rust standard library. The first message is printed when an allocation fails, the second when a
    // file is too large to be read into memory.
    output.contains("memory allocation of ") || output.contains("out of memory")
}
