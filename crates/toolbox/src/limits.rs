use std::time::Duration;

/// How much a tool may return or search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolLimits {
    /// Bytes of one tool's output. The rest is cut, with a note that says so. Notes come in addition.
    pub output_bytes: usize,
    /// Lines of a file that `read_file` returns at once.
    pub read_lines: usize,
    /// Matches of `grep` and paths of `glob` and `ls`.
    pub matches: usize,
    /// Places that `codebase` shows.
    pub places: usize,
    /// Files and folders that one search visits.
    pub files: usize,
    /// A file larger than this is not read or searched.
    pub file_bytes: u64,
    /// Bytes of all files that one `grep` reads.
    pub search_bytes: u64,
    /// A command that runs longer is ended.
    pub command_time: Duration,
}

impl Default for ToolLimits {
    fn default() -> Self {
        Self {
            output_bytes: 32 * 1024,
            read_lines: 2_000,
            matches: 1_000,
            places: 25,
            files: 100_000,
            file_bytes: 16 * 1024 * 1024,
            search_bytes: 512 * 1024 * 1024,
            command_time: Duration::from_secs(120),
        }
    }
}

impl ToolLimits {
    /// Limits for a model with a window of this many tokens: what a search finds takes at most half of it, at 512
    /// tokens for each place.
    #[must_use]
    pub fn for_window(self, tokens: u64) -> Self {
        let places = usize::try_from(tokens / 2 / 512).unwrap_or(usize::MAX);
        Self { places: self.places.min(places.max(1)), ..self }
    }
}
