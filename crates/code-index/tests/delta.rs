//! Changes that overlays stage, and changes on the disk since the index was made, lie over an index. A search over both
//! finds the same as an index that is made of all the files anew.

mod edits;

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::executor::block_on;
use headstart_code_index::{
    ContentFields, CutContents, Delta, MemoryIndex, Snapshot, View, is_rule_file, project_files,
};
use headstart_overlay_fs::{MemoryTree, Overlay, Quota, Tree, WorkspacePath};
use proptest::prelude::*;

use self::edits::{ALL, Edit, assert_same, edit, history, hits, name, path, queries, text};

fn closes(path: &WorkspacePath) -> bool {
    path.as_bytes().starts_with(b"token/")
}

/// The index of all files that a tree shows.
fn indexed(tree: &dyn Tree) -> MemoryIndex {
    let mut index = MemoryIndex::new();
    for (path, _) in block_on(project_files(tree, &closes)).expect("a tree in memory").files {
        let bytes = block_on(tree.read(&path)).expect("a file of the walk");
        index.set_history(&path, &history(&path.to_string()));
        index.put(path.clone(), Arc::new(ContentFields::of(&path, &bytes)));
    }
    index
}

/// The changes that a search of this tree has to take into account: what is staged, and what changed on the disk since
/// the index was made.
fn delta(index: &MemoryIndex, tree: &dyn Tree, changed: &BTreeSet<WorkspacePath>) -> Delta {
    block_on(async {
        let staged = tree.staged_changes();
        let mut changed = changed.clone();
        let staged_paths = staged.changes.iter().map(|change| &change.path);
        if staged_paths.chain(&changed).any(is_rule_file) {
            let known = index.catalogue().paths().cloned().collect();
            changed.extend(Delta::of_rules(tree, &known, &closes).await.expect("a tree in memory"));
        }
        Delta::of(tree, &staged, &changed, &closes, &mut CutContents::default()).await
    })
}

/// An edit, or a changed ignore rule that takes files out or brings them back.
fn any_edit() -> impl Strategy<Value = Edit> {
    let rule = proptest::sample::select(&["parse/\n", "*.md\n!query.md\n", "index.rs\n", ""][..]);
    let folder = proptest::sample::select(&["", "query/", "parse/in/"][..]);
    prop_oneof![
        12 => edit(),
        1 => (folder, rule).prop_map(|(folder, rule)| Edit::Write(format!("{folder}.gitignore"), rule.to_owned())),
    ]
}

fn stage(overlay: &Overlay, edit: &Edit) {
    // The tree may refuse an edit for lack of room. Then the edit does not count.
    let _ = block_on(async {
        match edit {
            Edit::Write(name, text) => overlay.write(&path(name), text.clone().into_bytes()).await,
            Edit::Remove(name) => overlay.remove(&path(name)).await,
            Edit::Move(from, to) => overlay.rename(&path(from), &path(to)).await,
            Edit::Step => Ok(()),
        }
    });
}

/// Makes an edit directly on the disk, as another program would, and notes each path that changed.
fn edit_on_disk(tree: &MemoryTree, edit: &Edit, changed: &mut BTreeSet<WorkspacePath>) {
    let is_file = |path: &WorkspacePath| block_on(tree.read(path)).is_ok();
    match edit {
        Edit::Write(name, text) => {
            let is_free = block_on(tree.list(&path(name))).is_err()
                && (1..path(name).names().count()).all(|depth| {
                    let above: Vec<_> = name.split('/').take(depth).collect();
                    !is_file(&path(&above.join("/")))
                });
            if is_free {
                tree.write(&path(name), text.as_bytes());
                changed.insert(path(name));
            }
        }
        Edit::Remove(name) if is_file(&path(name)) => {
            tree.remove(&path(name));
            changed.insert(path(name));
        }
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// For all edits: a search over the index and the changes gives the hits of an index of all the files as they are
    /// now.
    #[test]
    fn a_search_over_a_delta_is_one_of_all_files(
        start in proptest::collection::vec((name(), text()), 0..12),
        on_disk in proptest::collection::vec(any_edit(), 0..6),
        staged in proptest::collection::vec(any_edit(), 1..24),
    ) {
        let tree = MemoryTree::new();
        let mut changed = BTreeSet::new();
        for (name, text) in start {
            edit_on_disk(&tree, &Edit::Write(name, text), &mut changed);
        }
        let mut index = indexed(&tree);
        changed.clear();
        for edit in &on_disk {
            edit_on_disk(&tree, edit, &mut changed);
        }
        let mut top = Arc::new(Overlay::new(Arc::new(tree), Quota::default()));
        for edit in &staged {
            match edit {
                Edit::Step => top = Arc::new(Overlay::new(top, Quota::default())),
                edit => stage(&top, edit),
            }
        }
        let anew = indexed(top.as_ref());
        // Past commits may have touched a path at which there was no file when the index was made.
        for path in anew.catalogue().paths() {
            index.set_history(path, &history(&path.to_string()));
        }
        let staged = delta(&index, top.as_ref(), &changed).over(&index).unwrap();
        let view = View::new(&index, [&staged]);
        prop_assert_eq!(view.files(), anew.catalogue().files());
        for query in queries() {
            assert_same(&hits(&view, &query, ALL), &hits(&View::new(&anew, []), &query, ALL), &query);
        }
    }
}

/// A search takes at most 2,000 changed files into account, and says how many it has left out.
#[test]
fn more_files_than_the_limit_are_left_out_and_counted() {
    let tree = MemoryTree::from_files([("a.rs", "fn needle() {}")]).unwrap();
    let index = indexed(&tree);
    let overlay = Overlay::new(Arc::new(tree), Quota::default());
    for number in 0..2_003 {
        block_on(overlay.write(&path(&format!("{number:04}.md")), b"needle".to_vec())).unwrap();
    }
    let delta = delta(&index, &overlay, &BTreeSet::new());
    assert_eq!(delta.left_out, 3);
    let staged = delta.over(&index).unwrap();
    assert_eq!(View::new(&index, [&staged]).files(), 2_001);
}

#[test]
fn equal_deltas_have_one_key_and_others_have_others() {
    let tree = MemoryTree::from_files([("a.rs", "one"), ("b.rs", "two")]).unwrap();
    let index = indexed(&tree);
    let overlay = Overlay::new(Arc::new(tree), Quota::default());
    let key = |overlay: &Overlay| delta(&index, overlay, &BTreeSet::new()).key();
    let empty = key(&overlay);
    block_on(overlay.write(&path("a.rs"), b"three".to_vec())).unwrap();
    let written = key(&overlay);
    assert_eq!(written, key(&overlay));
    block_on(overlay.remove(&path("b.rs"))).unwrap();
    let removed = key(&overlay);
    assert!(empty != written && written != removed && removed != empty);
}
