use std::collections::HashSet;

use headstart_code_index::{LARGEST_FILE, Query, project_files};
use headstart_overlay_fs::{Tree as _, WorkspacePath};
use memchr::memmem::Finder;

use super::call_view::CallView;
use crate::content::searchable;
use crate::output::truncate_str;
use crate::{ToolContext, ToolError};

/// The most files that are searched.
const MAX_FILES: usize = 20_000;
/// The most bytes that are searched.
const MAX_BYTES: u64 = 64 << 20;
/// The most lines that are shown.
const MAX_LINES: usize = 24;
/// The most lines of one file that are shown.
const MAX_LINES_OF_FILE: usize = 4;
/// The most bytes of a line that are shown.
const LINE_BYTES: usize = 200;
/// Shorter words occur in every file.
const MIN_WORD_BYTES: usize = 4;

/// A search of the files that the index does not know yet.
pub(super) struct UnindexedSearch<'a> {
    pub(super) call_view: &'a CallView,
    pub(super) indexed: &'a HashSet<WorkspacePath>,
    pub(super) below: Option<&'a WorkspacePath>,
}

/// A line that was found.
pub(super) struct LineMatch {
    pub(super) path: WorkspacePath,
    pub(super) number: usize,
    pub(super) text: String,
}

impl UnindexedSearch<'_> {
    /// The lines with the names in the query, or else with its words, beginning with the files that have most of
    /// them; and a remark about the search.
    pub(super) async fn search(
        &self,
        query: &Query,
        context: ToolContext<'_>,
    ) -> Result<(Vec<LineMatch>, String), ToolError> {
        let mut words: Vec<&str> = query.names().collect();
        if words.is_empty() {
            // `retri` is the stem of retry and of retries.
            let words_of = query.terms().map(|word| word.strip_suffix('i').unwrap_or(word));
            words = words_of.filter(|word| MIN_WORD_BYTES <= word.len()).collect();
        }
        if words.is_empty() {
            return Ok((Vec::new(), String::new()));
        }
        let finders: Vec<Finder<'_>> = words.iter().map(|word| Finder::new(word.as_bytes())).collect();
        let ignores_case = query.names().next().is_none();
        let closes = |path: &WorkspacePath| context.closes(path);
        let files = project_files(self.call_view.tree.as_ref(), &closes).await?.files;
        let (mut found, mut looked, mut bytes) = (Vec::new(), 0, 0);
        for (path, seen) in files {
            let is_asked = self.below.is_none_or(|below| path.starts_with(below));
            if !is_asked || self.indexed.contains(&path) || LARGEST_FILE < seen.len {
                continue;
            }
            if looked == MAX_FILES || MAX_BYTES < bytes + seen.len {
                break;
            }
            looked += 1;
            bytes += seen.len;
            let Ok(bytes_read) = self.call_view.tree.read(&path).await else { continue };
            let Some(text) = searchable(bytes_read) else { continue };
            let searched = if ignores_case { text.to_ascii_lowercase() } else { text.clone() };
            let there = finders.iter().filter(|finder| finder.find(&searched).is_some()).count();
            if 0 < there {
                found.push((there, path, text, searched));
                found.sort_unstable_by(|one, other| other.0.cmp(&one.0).then_with(|| one.1.cmp(&other.1)));
                found.truncate(MAX_LINES);
            }
        }
        let lines = found.iter().flat_map(|(_, path, text, searched)| {
            let both = text.split(|byte| *byte == b'\n').zip(searched.split(|byte| *byte == b'\n'));
            let fits = both
                .zip(1..)
                .filter(|((_, searched), _)| finders.iter().any(|finder| finder.find(searched).is_some()));
            fits.take(MAX_LINES_OF_FILE).map(|((line, _), number)| LineMatch {
                path: path.clone(),
                number,
                text: truncate_str(&String::from_utf8_lossy(line), LINE_BYTES).to_owned(),
            })
        });
        let lines = lines.take(MAX_LINES).collect();
        let note = format!("{looked} other files were searched for: {}", words.join(", "));
        Ok((lines, if looked == 0 { String::new() } else { note }))
    }
}
