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
    /// A path each.
    Names(Names),
    /// A relative path, a colon and further text.
    Located,
}

/// What is known of the paths in a listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent properties of one listing, each used alone")]
pub(crate) struct Names {
    /// Whether a NUL ends each, and not a newline.
    pub(crate) nul: bool,
    /// Whether the program itself prints no other paths, so that no filter is needed.
    pub(crate) clean: bool,
    /// Whether each begins with a path that the command gives, so that none looks like an option.
    pub(crate) begun: bool,
    /// Whether they may begin with the path of the workspace. Otherwise they are relative.
    pub(crate) rooted: bool,
}

impl Names {
    /// Whether a newline ends each, and a filter is needed: what other programs may pass on or cut.
    pub(crate) const fn are_lines(self) -> bool {
        !self.nul && !self.clean
    }
}

/// [`LINES`] or [`WORDS`] for a listing whose paths may begin with that of the workspace; `None` if that path has a
/// character that means something to sed or to the shell.
pub(crate) fn rooted(script: &str, workspace: &str) -> Option<String> {
    let workspace = workspace.trim_end_matches('/');
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._/-".contains(&byte);
    if !workspace.starts_with('/') || !workspace.bytes().all(plain) {
        return None;
    }
    let (script, workspace) = (script.replacen("^[-/]", "^-", 1), workspace.replace('.', "[.]"));
    Some(format!(r"{script};\,^/,{{\,^{workspace}(/|$),!d;}}"))
}
