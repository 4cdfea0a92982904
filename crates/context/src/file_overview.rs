use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::Arc;

use headstart_overlay_fs::{DirEntry, EntryKind, IgnoreRules, Tree, WorkspacePath};
use headstart_tool_gate::GateContext;

use crate::sanitize::sanitize_line;

/// The most lines in total.
const LINES: usize = 60;
/// The most entries of one folder.
const ENTRIES: usize = 15;
/// The deepest nesting of folders.
const DEPTH: usize = 4;
/// A longer `.gitignore` is not read, in bytes.
const IGNORE_BYTES: u64 = 64 * 1024;

/// A folder in the overview, with its content.
struct Folder {
    path: WorkspacePath,
    rules: IgnoreRules,
    /// The entries that are shown; empty while the folder is not expanded.
    shown: Vec<Entry>,
    hidden: usize,
}

struct Entry {
    name: String,
    is_folder: bool,
    /// Its index in the list of folders.
    folder: Option<usize>,
}

/// An overview of a project's files: at most 60 lines, upper folders first, without what `.gitignore` files ignore or
/// the rules close.
///
/// The same tree always gives the same text.
pub async fn file_overview(tree: &Arc<dyn Tree>, gate: &GateContext) -> String {
    let mut folders = vec![Folder::closed(WorkspacePath::root(), IgnoreRules::default())];
    let mut queue = VecDeque::from([0]);
    let mut lines = 0;
    // Breadth first, because what is near the root says most about a project.
    while let Some(index) = queue.pop_front() {
        let room = ENTRIES.min(LINES.saturating_sub(lines));
        if room < 2 {
            break;
        }
        let (path, rules) = (folders[index].path.clone(), folders[index].rules.clone());
        let (rules, entries) = visible_entries(tree, gate, &path, &rules).await;
        // The last line says how many entries are missing.
        let count = if entries.len() <= room { entries.len() } else { room - 1 };
        folders[index].hidden = entries.len() - count;
        lines += count + usize::from(count < entries.len());
        for entry in entries.into_iter().take(count) {
            let is_folder = entry.kind == EntryKind::Directory;
            let below = path.join_bytes(&entry.name).ok().filter(|_| is_folder);
            let folder = below.filter(|below| below.names().count() < DEPTH).map(|below| {
                folders.push(Folder::closed(below, rules.clone()));
                queue.push_back(folders.len() - 1);
                folders.len() - 1
            });
            let name = sanitize_line(&String::from_utf8_lossy(&entry.name), 80);
            folders[index].shown.push(Entry { name, is_folder, folder });
        }
    }
    let mut text = String::new();
    render(&folders, 0, 0, &mut text);
    text
}

impl Folder {
    fn closed(path: WorkspacePath, rules: IgnoreRules) -> Self {
        Self { path, rules, shown: Vec::new(), hidden: 0 }
    }
}

/// The entries of a folder that may be shown, folders first, and the ignore rules in it. A folder that cannot be read
/// is empty.
pub(crate) async fn visible_entries(
    tree: &Arc<dyn Tree>,
    gate: &GateContext,
    folder: &WorkspacePath,
    rules: &IgnoreRules,
) -> (IgnoreRules, Vec<DirEntry>) {
    let Ok(entries) = tree.list(folder).await else { return (rules.clone(), Vec::new()) };
    let rules = rules.enter(folder, &**tree, IGNORE_BYTES, |file| gate.denies(file)).await;
    let is_shown = |entry: &DirEntry| {
        let path = folder.join_bytes(&entry.name).ok();
        entry.name != b".git"
            && path.is_some_and(|path| !rules.ignores(&path, entry.kind) && !gate.denies(&path))
    };
    let mut entries: Vec<_> = entries.into_iter().filter(is_shown).collect();
    entries.sort_by_key(|entry| entry.kind != EntryKind::Directory);
    (rules, entries)
}

fn render(folders: &[Folder], index: usize, depth: usize, text: &mut String) {
    let indent = "  ".repeat(depth);
    let folder = &folders[index];
    for entry in &folder.shown {
        let slash = if entry.is_folder { "/" } else { "" };
        let _ = writeln!(text, "{indent}{}{slash}", entry.name);
        if let Some(below) = entry.folder {
            render(folders, below, depth + 1, text);
        }
    }
    if 0 < folder.hidden {
        let _ = writeln!(text, "{indent}… {} more", folder.hidden);
    }
}

#[cfg(test)]
mod tests {
    use futures::executor::block_on;
    use headstart_overlay_fs::MemoryTree;
    use headstart_tool_gate::DenyRules;

    use super::*;

    fn overview_of(files: impl IntoIterator<Item = String>, deny: &[&str]) -> String {
        let files = files.into_iter().map(|path| (path, ""));
        let files: Vec<_> = files.collect();
        let tree = MemoryTree::from_files(files.iter().map(|(path, text)| (path.as_str(), *text))).unwrap();
        let tree: Arc<dyn Tree> = Arc::new(tree);
        let deny = DenyRules::from_patterns(deny.iter().copied()).unwrap();
        block_on(file_overview(&tree, &GateContext { deny, ..GateContext::default() }))
    }

    #[test]
    fn upper_folders_come_first_and_closed_files_not_at_all() {
        let files = ["src/a/deep/er/x.rs", "src/lib.rs", "README.md", ".env", ".git/HEAD", "private/x"];
        insta::assert_snapshot!(overview_of(files.map(str::to_owned), &["/private"]), @r"
        src/
          a/
            deep/
              er/
          lib.rs
        README.md
        ");
    }

    #[test]
    fn what_git_ignores_is_left_out() {
        let files = [
            (".gitignore", "target/\n*.log\n"),
            ("target/x", ""),
            ("a.log", ""),
            ("b/c.log", ""),
            ("b/d", ""),
        ];
        let tree: Arc<dyn Tree> = Arc::new(MemoryTree::from_files(files).unwrap());
        let text = block_on(file_overview(&tree, &GateContext::default()));
        assert_eq!(text, "b/\n  d\n.gitignore\n");
    }

    #[test]
    fn a_large_project_stays_small() {
        let many = (0..40).flat_map(|folder| (0..40).map(move |file| format!("f{folder:02}/file{file:02}")));
        let text = overview_of(many, &[]);
        assert!(text.lines().count() <= LINES, "{text}");
        assert!(text.ends_with("… 26 more\n"), "{text}");
        assert!(text.contains("… 26 more"), "{text}");
    }
}
