use std::time::Duration;

/// How much a tool may return or search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one tool's output; what follows is cut and said to be cut. Notes come on top.
    pub output_bytes: usize,
    /// Lines of a file that `read_file` returns at once.
    pub read_lines: usize,
    /// Matches of `grep` and paths of `glob` and `ls`.
    pub matches: usize,
    /// Files and folders that one search visits.
    pub files: usize,
    /// A file larger than this is not read or searched.
    pub file_bytes: u64,
    /// Bytes of all files that one `grep` reads.
    pub search_bytes: u64,
    /// A command that runs longer is ended.
    pub command_time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            output_bytes: 32 * 1024,
            read_lines: 2_000,
            matches: 1_000,
            files: 100_000,
            file_bytes: 16 * 1024 * 1024,
            search_bytes: 512 * 1024 * 1024,
            command_time: Duration::from_secs(120),
        }
    }
}
