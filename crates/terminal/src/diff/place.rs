//! Where in its file a change is: the definition around it, and the number of hunks.

use super::{Diff, DiffFile, counted};

/// A header in fewer columns has no room for the place.
const MIN_COLUMNS: u16 = 100;

/// The number of a line that was removed or added, counted in the file before or after the change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangedLine {
    Removed(usize),
    Added(usize),
}

impl Diff {
    /// The diff with the definition in which each edited file begins to differ, in words such as `fn add`. `find`
    /// returns it from the path and the changed lines that are not blank.
    #[must_use]
    pub fn with_definitions(mut self, mut find: impl FnMut(&str, &[ChangedLine]) -> Option<String>) -> Self {
        // A file that is created or deleted differs everywhere.
        for file in self.files.iter_mut().filter(|file| !matches!(file.verb, "create" | "delete")) {
            file.definition = find(&file.path, &file.changed_lines());
        }
        self
    }

    /// The place of the change in words, if there is one file and room for it.
    pub fn place(&self, columns: usize) -> Option<String> {
        match &self.files[..] {
            [file] => file.place(u16::try_from(columns).unwrap_or(u16::MAX)),
            _ => None,
        }
    }
}

impl DiffFile {
    /// The place of the change in words, such as `fn add · 3 hunks`.
    pub(super) fn place(&self, columns: u16) -> Option<String> {
        let hunks = Some(self.hunks.len()).filter(|hunks| 1 < *hunks).map(|hunks| counted(hunks, "hunk"));
        let parts: Vec<String> = self.definition.clone().into_iter().chain(hunks).collect();
        (MIN_COLUMNS <= columns && !parts.is_empty()).then(|| parts.join(" · "))
    }

    fn changed_lines(&self) -> Vec<ChangedLine> {
        let lines = self.hunks.iter().flatten().filter(|line| !line.text.trim().is_empty());
        let changed = lines.filter_map(|line| match line.sign {
            '-' => Some(ChangedLine::Removed(line.number)),
            '+' => Some(ChangedLine::Added(line.number)),
            _ => None,
        });
        changed.collect()
    }
}
