//! Which files a program has generated, according to the project's `.gitattributes`. The attribute is the one that code
//! hosts use: `*.pb.go linguist-generated`.

use std::collections::BTreeMap;

use headstart_overlay_fs::WorkspacePath;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

const FILE: &str = ".gitattributes";
const ATTRIBUTE: &str = "linguist-generated";
/// The most bytes of a `.gitattributes` file. Longer files are not read.
const MAX_BYTES: usize = 1 << 20;

/// Reads the attributes of a workspace's files.
pub(super) struct GeneratedFiles<R> {
    read: R,
    /// The rules by the name of their file. Each file is read once.
    known: BTreeMap<String, Vec<AttributeRule>>,
}

/// A pattern, and whether files that match it are generated.
type AttributeRule = (Gitignore, bool);

impl<R: Fn(&WorkspacePath) -> Option<Vec<u8>>> GeneratedFiles<R> {
    /// `read` returns the content of a path in the workspace.
    pub(super) fn new(read: R) -> Self {
        Self { read, known: BTreeMap::new() }
    }

    /// Whether this file is generated. The last matching line counts, and a `.gitattributes` file nearer to it takes
    /// precedence over one further up.
    pub(super) fn is(&mut self, path: &str) -> bool {
        let folders = path.match_indices('/').map(|(at, _)| at + 1).rev().chain([0]);
        let mut decisions = folders.filter_map(|start| {
            let (folder, name) = path.split_at(start);
            let rules = self.rules(format!("{folder}{FILE}"));
            let found = rules.iter().rev().find(|(pattern, _)| pattern.matched(name, false).is_ignore());
            found.map(|(_, is_generated)| *is_generated)
        });
        decisions.next().unwrap_or(false)
    }

    fn rules(&mut self, file: String) -> &[AttributeRule] {
        let Self { read, known } = self;
        known.entry(file).or_insert_with_key(|file| {
            let content = WorkspacePath::parse(file).ok().and_then(|path| read(&path));
            let content = content.filter(|content| content.len() <= MAX_BYTES).unwrap_or_default();
            String::from_utf8_lossy(&content).lines().filter_map(rule).collect()
        })
    }
}

/// Reads a line, if it is about the attribute. Git has no patterns that begin with `!` in these files.
fn rule(line: &str) -> Option<AttributeRule> {
    let mut words = line.split_whitespace();
    let pattern = words.next().filter(|pattern| !pattern.starts_with(['#', '!', '"']))?;
    if pattern.starts_with("[attr]") {
        return None;
    }
    let mut says =
        words.rev().filter_map(|word| match (word.strip_prefix(ATTRIBUTE), word.strip_prefix(['-', '!'])) {
            (Some("" | "=true"), _) => Some(true),
            (Some("=false"), _) | (_, Some(ATTRIBUTE)) => Some(false),
            _ => None,
        });
    let is_generated = says.next()?;
    let mut builder = GitignoreBuilder::new("");
    builder.add_line(None, pattern).ok()?;
    Some((builder.build().ok()?, is_generated))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_file_and_its_last_line_decide() {
        let files = [
            (
                ".gitattributes",
                "# made by hand\n*.rs text\n*.pb.go linguist-generated diff=x\n/api/** text linguist-generated=true\n\
                 api/hand.ts -linguist-generated\n!x linguist-generated\n[attr]x linguist-generated\n",
            ),
            (
                "sub/.gitattributes",
                "*.pb.go linguist-generated\n[ab].pb.go linguist-generated=false\nmade/ linguist-generated\nodd.pb.go !linguist-generated\n",
            ),
        ];
        let mut generated = GeneratedFiles::new(|path: &WorkspacePath| {
            let found = files.iter().find(|(name, _)| path.as_str() == Some(name));
            found.map(|(_, text)| text.as_bytes().to_vec())
        });
        for (path, expected) in [
            ("lib.rs", false),
            ("a.pb.go", true),
            ("deep/er/a.pb.go", true),
            ("api/schema.ts", true),
            ("api/hand.ts", false),
            ("sub/api/schema.ts", false),
            ("sub/a.pb.go", false),
            ("sub/deep/a.pb.go", false),
            ("sub/c.pb.go", true),
            ("sub/odd.pb.go", false),
            ("sub/made/x.txt", false),
            ("x", false),
        ] {
            assert_eq!(generated.is(path), expected, "{path}");
        }
    }

    #[test]
    fn a_file_that_is_very_long_says_nothing() {
        let long = "*.rs linguist-generated\n".repeat(MAX_BYTES / 20);
        assert!(!GeneratedFiles::new(|_: &WorkspacePath| Some(long.clone().into_bytes())).is("lib.rs"));
        assert!(
            GeneratedFiles::new(|_: &WorkspacePath| Some(b"*.rs linguist-generated".to_vec())).is("lib.rs")
        );
    }
}
