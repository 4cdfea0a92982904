use std::collections::VecDeque;
use std::sync::Arc;

use headstart_overlay_fs::{EntryKind, IgnoreRules, Tree, WorkspacePath};
use headstart_tool_gate::GateContext;

use super::mention_of_path;
use crate::file_overview::visible_entries;

/// Mentions of the files and folders of a tree, those near the root first, at most this many. Left out are what
/// `.gitignore` files ignore or the rules close, links, and what no mention can name.
pub async fn mentions_of_paths(tree: &Arc<dyn Tree>, gate: &GateContext, most: usize) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = VecDeque::from([(WorkspacePath::root(), IgnoreRules::default())]);
    while let Some((folder, rules)) = folders.pop_front() {
        let (rules, entries) = visible_entries(tree, gate, &folder, &rules).await;
        for entry in entries {
            if found.len() == most {
                return found;
            }
            let Ok(path) = folder.join_bytes(&entry.name) else { continue };
            let Some(name) = path.as_str().filter(|name| !name.contains(char::is_control)) else { continue };
            match entry.kind {
                EntryKind::Directory => {
                    found.extend(mention_of_path(&format!("{name}/")));
                    folders.push_back((path, rules.clone()));
                }
                EntryKind::File => found.extend(mention_of_path(name)),
                EntryKind::Symlink | EntryKind::Other => {}
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use futures::executor::block_on;
    use headstart_overlay_fs::MemoryTree;
    use headstart_tool_gate::DenyRules;

    use super::*;

    #[test]
    fn closed_and_ignored_paths_are_left_out_and_what_is_near_the_root_comes_first() {
        let files = [
            (".gitignore", "out/\n*.log\n"),
            ("src/.gitignore", "made.rs\n"),
            ("src/lib.rs", ""),
            ("src/made.rs", ""),
            ("out/x", ""),
            ("a.log", ""),
            (".env", ""),
            (".git/config", ""),
            ("private/key.txt", ""),
            ("my notes.txt", ""),
            ("a\nb", ""),
            ("a:7", ""),
        ];
        let tree: Arc<dyn Tree> = Arc::new(MemoryTree::from_files(files).unwrap());
        let deny = DenyRules::from_patterns(["private/"]).unwrap();
        let gate = GateContext { workspace: "/w".to_owned(), deny, ..GateContext::default() };
        let all = block_on(mentions_of_paths(&tree, &gate, 100));
        assert_eq!(all, ["@src/", "@.gitignore", "@\"my notes.txt\"", "@src/.gitignore", "@src/lib.rs"]);
        assert_eq!(block_on(mentions_of_paths(&tree, &gate, 2)), all[..2]);
    }
}
