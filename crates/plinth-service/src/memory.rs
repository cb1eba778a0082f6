//! How a process dies that is refused memory.

/// Whether these are the last words of a program that gave up because the system refused it memory.
pub fn is_out_of_memory(said: &str) -> bool {
    // The standard library's words: where it gives up, and where a file is read.
    said.contains("memory allocation of ") || said.contains("out of memory")
}
