//! The lines that a program prints.

/// A script for sed that removes from a listing the lines that lead out of the workspace or look like an option.
pub(crate) const LINES: &str = r"\,(^|/)[.][.](/|$)|^[-/],d";
/// A script that also removes the lines which the shell would split or match against names.
pub(crate) const WORDS: &str = r"\,(^|/)[.][.](/|$)|^[-/]|[]*?\\[:blank:][],d";

/// What every line of an output looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Printed {
    /// Digits in one line; it may be missing.
    Count,
    /// Digits in each of several lines.
    Counts,
    /// The name of one object, or a revision as it was given; it may be missing.
    Object,
    /// A relative path, up to a NUL or a newline.
    Names {
        nul: bool,
        /// Whether the program itself prints no other paths, so that no filter is needed.
        clean: bool,
    },
    /// A relative path, a colon and further text.
    Located,
}
