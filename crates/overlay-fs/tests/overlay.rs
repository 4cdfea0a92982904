//! The overlay over a tree in memory: what its view shows, what it stages, and what it refuses.
#![expect(clippy::unwrap_used, reason = "the helpers of tests may unwrap as tests do")]

use std::sync::Arc;

use futures::executor::block_on;
use headstart_overlay_fs::{
    ChangeKind, CommitOptions, CommitOutcome, Committed, ConflictKind, EntryKind, MemoryTree, Overlay, Quota,
    Tree, TreeError, Workspace, WorkspacePath,
};

fn path(text: &str) -> WorkspacePath {
    WorkspacePath::parse(text).unwrap()
}

fn workspace() -> Arc<MemoryTree> {
    Arc::new(
        MemoryTree::from_files([("a.txt", "one\ntwo\n"), ("src/lib.rs", "lib\n"), ("src/deep/x.rs", "x\n")])
            .unwrap(),
    )
}

fn over(tree: &Arc<MemoryTree>) -> Overlay {
    Overlay::new(tree.clone(), Quota::default())
}

fn names(tree: &dyn Tree, at: &str) -> Vec<String> {
    let listed = block_on(tree.list(&path(at))).unwrap();
    assert!(listed.is_sorted());
    listed.into_iter().map(|entry| String::from_utf8(entry.name).unwrap()).collect()
}

fn read(tree: &dyn Tree, at: &str) -> Result<String, TreeError> {
    block_on(tree.read(&path(at))).map(|content| String::from_utf8(content).unwrap())
}

fn changed(overlay: &Overlay) -> Vec<String> {
    let kind = |kind: &ChangeKind| match kind {
        ChangeKind::Write { moved_from: Some(from), .. } => format!("write (from {from})"),
        ChangeKind::Write { .. } => "write".to_owned(),
        ChangeKind::Link { .. } => "link".to_owned(),
        ChangeKind::CreateDirectory => "mkdir".to_owned(),
        ChangeKind::Delete => "delete".to_owned(),
    };
    overlay
        .change_set()
        .changes
        .iter()
        .map(|change| format!("{} {}", kind(&change.kind), change.path))
        .collect()
}

#[test]
fn what_is_written_is_read_listed_and_not_in_the_workspace() {
    let tree = workspace();
    let before = tree.snapshot();
    let overlay = over(&tree);
    block_on(async {
        overlay.write(&path("a.txt"), b"new\n".to_vec()).await.unwrap();
        overlay.write(&path("new/dir/file"), b"n".to_vec()).await.unwrap();
    });
    assert_eq!(read(&overlay, "a.txt").unwrap(), "new\n");
    assert_eq!(names(&overlay, "."), ["a.txt", "new", "src"]);
    assert_eq!(names(&overlay, "new"), ["dir"]);
    assert_eq!(names(&overlay, "new/dir"), ["file"]);
    assert_eq!(block_on(overlay.metadata(&path("new"))).unwrap().kind, EntryKind::Directory);
    assert_eq!(changed(&overlay), ["write a.txt", "write new/dir/file"]);
    assert_eq!(tree.snapshot(), before);
    assert!(overlay.touches(&path("new")) && !overlay.touches(&path("src")));

    overlay.discard();
    assert_eq!(read(&overlay, "a.txt").unwrap(), "one\ntwo\n");
    assert!(overlay.change_set().is_empty() && overlay.usage().files == 0 && overlay.usage().bytes == 0);
}

#[test]
fn a_removed_folder_is_gone_and_can_be_made_again_empty() {
    let tree = workspace();
    let overlay = over(&tree);
    block_on(overlay.remove(&path("src"))).unwrap();
    assert_eq!(names(&overlay, "."), ["a.txt"]);
    assert!(matches!(read(&overlay, "src/lib.rs"), Err(TreeError::NotFound { .. })));
    assert_eq!(
        changed(&overlay),
        ["delete src/lib.rs", "delete src/deep/x.rs", "delete src/deep", "delete src"]
    );

    block_on(overlay.write(&path("src/other.rs"), b"o".to_vec())).unwrap();
    assert_eq!(names(&overlay, "src"), ["other.rs"]);
    assert_eq!(
        changed(&overlay),
        ["delete src/lib.rs", "delete src/deep/x.rs", "delete src/deep", "write src/other.rs"]
    );
    assert_eq!(
        block_on(tree.commit(&overlay.change_set(), CommitOptions::default())).unwrap(),
        CommitOutcome::Committed(Committed::default())
    );
    assert_eq!(tree.snapshot().into_keys().collect::<Vec<_>>(), ["a.txt", "src/", "src/other.rs"]);
}

#[test]
fn a_moved_folder_takes_its_content_along() {
    let tree = workspace();
    let overlay = over(&tree);
    block_on(async {
        overlay.write(&path("src/deep/x.rs"), b"edited\n".to_vec()).await.unwrap();
        overlay.rename(&path("src"), &path("lib")).await.unwrap();
    });
    assert_eq!(names(&overlay, "."), ["a.txt", "lib"]);
    assert_eq!(read(&overlay, "lib/deep/x.rs").unwrap(), "edited\n");
    assert_eq!(read(&overlay, "lib/lib.rs").unwrap(), "lib\n");
    let rows: Vec<_> = overlay
        .change_set()
        .summary()
        .into_iter()
        .map(|row| format!("{} {} {:?} +{} -{}", row.kind, row.path, row.from, row.added, row.removed))
        .collect();
    assert_eq!(
        rows,
        [
            "rename lib/deep/x.rs Some(\"src/deep/x.rs\") +1 -1",
            "rename lib/lib.rs Some(\"src/lib.rs\") +0 -0"
        ]
    );
    block_on(overlay.rename(&path("lib"), &path("src"))).unwrap();
    assert_eq!(changed(&overlay), ["write src/deep/x.rs"]);
}

/// If a file is as it was before, there is nothing to commit.
#[test]
fn what_comes_back_to_the_base_is_no_change() {
    let tree = workspace();
    let overlay = over(&tree);
    block_on(async {
        overlay.write(&path("a.txt"), b"one\ntwo\n".to_vec()).await.unwrap();
        assert!(overlay.change_set().is_empty(), "the same content");
        overlay.write(&path("a.txt"), b"other".to_vec()).await.unwrap();
        overlay.write(&path("a.txt"), b"one\ntwo\n".to_vec()).await.unwrap();
        assert!(overlay.change_set().is_empty(), "restored");
        overlay.set_executable(&path("a.txt"), true).await.unwrap();
        assert_eq!(changed(&overlay), ["write a.txt"]);
        overlay.set_executable(&path("a.txt"), false).await.unwrap();
        overlay.write(&path("n/m/new"), vec![1]).await.unwrap();
        overlay.remove(&path("n/m/new")).await.unwrap();
        assert!(
            matches!(overlay.metadata(&path("n")).await, Err(TreeError::NotFound { .. })),
            "no empty folder"
        );
        overlay.create_dir(&path("made")).await.unwrap();
        overlay.remove(&path("made")).await.unwrap();
        overlay.remove(&path("src/lib.rs")).await.unwrap();
        overlay.write(&path("src/lib.rs"), b"lib\n".to_vec()).await.unwrap();
        overlay.rename(&path("src/lib.rs"), &path("elsewhere")).await.unwrap();
        overlay.rename(&path("elsewhere"), &path("src/lib.rs")).await.unwrap();
    });
    assert_eq!(changed(&overlay), Vec::<String>::new());
    assert_eq!((overlay.usage().files, overlay.usage().bytes), (0, 0));
}

/// A refused operation leaves nothing staged and counts for no quota.
#[test]
fn a_staging_that_fails_stages_nothing() {
    let tree = workspace();
    let quota = Quota { files: 3, bytes: 40, ..Quota::default() };
    let overlay = Overlay::new(tree.clone(), quota);
    block_on(async {
        overlay.write(&path("b"), vec![0; 10]).await.unwrap();
        let refused = [
            overlay.write(&path("src"), vec![]).await,
            overlay.write(&path("a.txt/below"), vec![]).await,
            overlay.write(&path("big"), vec![0; 41]).await,
            overlay.remove(&path("none")).await,
            overlay.remove(&path("src")).await,
            overlay.remove(&path(".")).await,
            overlay.rename(&path("a.txt"), &path("b")).await,
            overlay.rename(&path("src"), &path("src/deep/inner")).await,
            overlay.rename(&path("none"), &path("c")).await,
            overlay.create_dir(&path("src")).await,
            overlay.set_executable(&path("src"), true).await,
            overlay.set_executable(&path("none"), true).await,
        ];
        for (index, outcome) in refused.iter().enumerate() {
            assert!(outcome.is_err(), "number {index}");
        }
        assert!(matches!(refused[2], Err(TreeError::Quota { unit: "bytes", limit: 40, .. })));
        assert!(matches!(refused[4], Err(TreeError::Quota { unit: "files", limit: 3, .. })));
    });
    assert_eq!(changed(&overlay), ["write b"]);
    assert_eq!((overlay.usage().files, overlay.usage().bytes), (1, 10));
}

/// A file that is reached through a link is the same file, so that there is one change for it and not two.
#[test]
fn one_file_has_one_identity_through_links() {
    let tree = workspace();
    tree.link(&path("shortcut"), "src/deep");
    tree.link(&path("src/alias"), "../a.txt");
    tree.link(&path("out"), "../outside");
    tree.link(&path("absolute"), "/etc/passwd");
    tree.link(&path("circle"), "circle");
    tree.special(&path("pipe"));
    let overlay = over(&tree);
    block_on(async {
        overlay.write(&path("shortcut/x.rs"), b"through\n".to_vec()).await.unwrap();
        overlay.write(&path("src/alias"), b"aliased\n".to_vec()).await.unwrap();
        for escaping in ["out", "out/file", "absolute", "circle", "circle/file"] {
            for outcome in [
                overlay.write(&path(escaping), vec![]).await,
                overlay.read(&path(escaping)).await.map(drop),
                overlay.list(&path(escaping)).await.map(drop),
            ] {
                assert!(matches!(outcome, Err(TreeError::Escapes { .. })), "{escaping}: {outcome:?}");
            }
        }
        assert!(matches!(overlay.write(&path("pipe"), vec![]).await, Err(TreeError::Unsupported { .. })));
        assert!(matches!(overlay.remove(&path("pipe")).await, Err(TreeError::Unsupported { .. })));
    });
    assert_eq!(changed(&overlay), ["write a.txt", "write src/deep/x.rs"]);
    assert_eq!(read(&overlay, "src/deep/x.rs").unwrap(), "through\n");
    assert_eq!(read(&overlay, "a.txt").unwrap(), "aliased\n");
    assert_eq!(names(&overlay, "shortcut"), ["x.rs"]);

    block_on(overlay.rename(&path("shortcut"), &path("cut"))).unwrap();
    assert_eq!(read(&overlay, "cut/x.rs").unwrap(), "through\n");
    assert!(matches!(
        block_on(overlay.rename(&path("src/alias"), &path("alias"))),
        Err(TreeError::Escapes { .. })
    ));
}

#[test]
fn a_users_edit_is_a_conflict_and_stays() {
    type Edit = fn(&MemoryTree);
    let edits: [(&str, Edit, ConflictKind); 9] = [
        ("a.txt", |tree| tree.write(&path("a.txt"), "user"), ConflictKind::Modified),
        ("a.txt", |tree| tree.remove(&path("a.txt")), ConflictKind::Deleted),
        ("a.txt", |tree| tree.link(&path("a.txt"), "src"), ConflictKind::Replaced),
        ("a.txt", |tree| tree.make_dir(&path("a.txt")), ConflictKind::Replaced),
        ("new/file", |tree| tree.write(&path("new/file"), "user"), ConflictKind::Created),
        ("new/file", |tree| tree.write(&path("new"), "user"), ConflictKind::Replaced),
        ("new/file", |tree| tree.link(&path("new"), "src"), ConflictKind::Replaced),
        ("src/deep", |tree| tree.write(&path("src/deep/more"), "user"), ConflictKind::Modified),
        ("src/lib.rs", |tree| tree.write(&path("src/lib.rs"), "user"), ConflictKind::StaleRead),
    ];
    for (index, (at, edit, kind)) in edits.into_iter().enumerate() {
        let tree = workspace();
        let overlay = over(&tree);
        block_on(async {
            overlay.read(&path("src/lib.rs")).await.unwrap();
            overlay.write(&path("a.txt"), b"mine".to_vec()).await.unwrap();
            overlay.write(&path("new/file"), b"mine".to_vec()).await.unwrap();
            overlay.remove(&path("src/deep")).await.unwrap();
        });
        edit(&tree);
        let before = tree.snapshot();
        let CommitOutcome::Conflict(found) =
            block_on(tree.commit(&overlay.change_set(), CommitOptions::default())).unwrap()
        else {
            panic!("number {index} was committed")
        };
        let found: Vec<_> =
            found.into_iter().map(|conflict| (conflict.path.to_string(), conflict.kind)).collect();
        assert_eq!(found, [(at.to_owned(), kind)], "number {index}");
        assert_eq!(tree.snapshot(), before, "number {index}");
    }
}

/// Edits that keep what the work has seen, or are elsewhere, are no conflicts.
#[test]
fn what_does_not_matter_is_no_conflict() {
    let tree = workspace();
    let overlay = over(&tree);
    block_on(async {
        overlay.read(&path("src/lib.rs")).await.unwrap();
        overlay.write(&path("a.txt"), b"mine".to_vec()).await.unwrap();
        overlay.write(&path("new/file"), b"mine".to_vec()).await.unwrap();
    });
    tree.write(&path("a.txt"), "one\ntwo\n");
    tree.write(&path("src/lib.rs"), "lib\n");
    tree.write(&path("src/unseen.rs"), "user");
    tree.write(&path("new/other"), "user");
    tree.make_executable(&path("a.txt"), true);
    assert_eq!(
        block_on(tree.commit(&overlay.change_set(), CommitOptions::default())).unwrap(),
        CommitOutcome::Committed(Committed::default())
    );
    let after = tree.snapshot();
    assert_eq!(after["a.txt*"], b"mine", "the user's mode is kept");
    assert!(after.contains_key("new/other") && after.contains_key("new/file"));
}

/// The work is based on what it saw first, so a later edit of the user is a conflict.
#[test]
fn the_first_look_counts_even_if_the_file_is_written_later() {
    let tree = workspace();
    let overlay = over(&tree);
    read(&overlay, "a.txt").unwrap();
    assert!(matches!(read(&overlay, "later"), Err(TreeError::NotFound { .. })));
    tree.write(&path("a.txt"), "user, after the look");
    tree.write(&path("later"), "user, after the look");
    block_on(overlay.write(&path("a.txt"), b"rests on what was seen".to_vec())).unwrap();
    block_on(overlay.write(&path("later"), b"rests on nothing being there".to_vec())).unwrap();
    let CommitOutcome::Conflict(found) =
        block_on(tree.commit(&overlay.change_set(), CommitOptions::default())).unwrap()
    else {
        panic!("the user's edit was overwritten")
    };
    assert_eq!(found.len(), 2);
}

#[test]
fn a_listing_that_changed_is_a_stale_read() {
    let tree = workspace();
    let overlay = over(&tree);
    names(&overlay, "src");
    assert!(matches!(read(&overlay, "none"), Err(TreeError::NotFound { .. })));
    block_on(overlay.write(&path("b"), vec![])).unwrap();
    tree.write(&path("src/more"), "user");
    tree.write(&path("none"), "user");
    let CommitOutcome::Conflict(found) =
        block_on(tree.commit(&overlay.change_set(), CommitOptions::default())).unwrap()
    else {
        panic!("committed")
    };
    let found: Vec<_> = found.iter().map(|conflict| (conflict.path.to_string(), conflict.kind)).collect();
    assert_eq!(
        found,
        [("none".to_owned(), ConflictKind::StaleRead), ("src".to_owned(), ConflictKind::StaleRead)]
    );
}

#[test]
fn a_stacked_overlay_commits_after_the_one_below() {
    let tree = workspace();
    let below = Arc::new(over(&tree));
    block_on(async {
        below.write(&path("a.txt"), b"first\n".to_vec()).await.unwrap();
        below.write(&path("made/new"), b"first\n".to_vec()).await.unwrap();
        below.remove(&path("src/deep")).await.unwrap();
    });
    let above = Overlay::new(below.clone(), Quota::default());
    block_on(async {
        assert_eq!(above.read(&path("a.txt")).await.unwrap(), b"first\n");
        above.read(&path("made/new")).await.unwrap();
        above.write(&path("a.txt"), b"second\n".to_vec()).await.unwrap();
        above.write(&path("src/deep"), b"a file now\n".to_vec()).await.unwrap();
        above.set_executable(&path("made/new"), true).await.unwrap();
    });
    assert_eq!(names(&above, "src"), ["deep", "lib.rs"]);
    assert_eq!(names(&*below, "src"), ["lib.rs"]);
    assert_eq!(
        block_on(tree.commit(&below.change_set(), CommitOptions::default())).unwrap(),
        CommitOutcome::Committed(Committed::default())
    );
    assert_eq!(
        block_on(tree.commit(&above.change_set(), CommitOptions::default())).unwrap(),
        CommitOutcome::Committed(Committed::default())
    );
    let after = tree.snapshot();
    assert_eq!(after["a.txt"], b"second\n");
    assert_eq!(after["src/deep"], b"a file now\n");
    assert_eq!(after["made/new*"], b"first\n");
}

#[test]
fn a_change_set_survives_json_and_opens_as_an_overlay() {
    let tree = workspace();
    let odd = WorkspacePath::from_bytes(b"odd\xff name").unwrap();
    tree.link(&path("link"), "src");
    let overlay = over(&tree);
    block_on(async {
        overlay.list(&path(".")).await.unwrap();
        overlay.read(&path("src/lib.rs")).await.unwrap();
        overlay.write(&odd, vec![0, 255, 1]).await.unwrap();
        overlay.write(&path("a.txt"), "text with \u{1F600}\n".into()).await.unwrap();
        overlay.rename(&path("src/deep"), &path("moved")).await.unwrap();
        overlay.rename(&path("link"), &path("moved link")).await.unwrap();
        overlay.create_dir(&path("empty")).await.unwrap();
    });
    let changes = overlay.change_set();
    let json = serde_json::to_string(&changes).unwrap();
    assert!(json.contains(r#""content":"text with "#) && json.contains(r#"{"base64":"AP8B"}"#), "{json}");
    let back = serde_json::from_str(&json).unwrap();
    assert_eq!(changes, back);
    let again = Overlay::from_change_set(tree.clone(), Quota::default(), &back).unwrap();
    assert_eq!(again.change_set(), changes);
    assert_eq!(names_raw(&again), names_raw(&overlay));
    assert_eq!(again.usage(), overlay.usage());
}

fn names_raw(tree: &dyn Tree) -> Vec<Vec<u8>> {
    block_on(tree.list(&WorkspacePath::root())).unwrap().into_iter().map(|entry| entry.name).collect()
}

/// A change set from elsewhere cannot make a link that leads out of the workspace.
#[test]
fn a_change_set_that_would_make_a_link_out_is_refused() {
    let tree = workspace();
    let before = tree.snapshot();
    for (target, leaves) in
        [("/etc/passwd", true), ("../../outside", true), ("a/../../../b", true), ("../a.txt", false)]
    {
        let change = headstart_overlay_fs::Change {
            path: path("src/link"),
            base: None,
            base_content: None,
            kind: ChangeKind::Link { target: target.into(), moved_from: None },
            mode: None,
        };
        let changes = headstart_overlay_fs::ChangeSet { changes: vec![change], reads: Vec::new() };
        let refused = block_on(tree.commit(&changes, CommitOptions::default()));
        let is_refused = matches!(refused, Err(TreeError::Escapes { .. }));
        assert_eq!(is_refused, leaves, "{target}: {refused:?}");
        tree.remove(&path("src/link"));
    }
    assert_eq!(tree.snapshot(), before);
}

/// Counts the calls that reach the base.
struct Counting {
    tree: Arc<MemoryTree>,
    calls: std::sync::atomic::AtomicU32,
}

impl Counting {
    fn count(&self) -> &MemoryTree {
        self.calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        &self.tree
    }
}

#[async_trait::async_trait]
impl Tree for Counting {
    async fn metadata(&self, path: &WorkspacePath) -> Result<headstart_overlay_fs::Metadata, TreeError> {
        self.count().metadata(path).await
    }
    async fn read(&self, path: &WorkspacePath) -> Result<Vec<u8>, TreeError> {
        self.count().read(path).await
    }
    async fn list(&self, path: &WorkspacePath) -> Result<Vec<headstart_overlay_fs::DirEntry>, TreeError> {
        self.count().list(path).await
    }
    async fn read_link(&self, path: &WorkspacePath) -> Result<Vec<u8>, TreeError> {
        self.count().read_link(path).await
    }
}

/// The base is not asked more often than necessary.
#[test]
fn a_whole_write_reads_what_it_replaces_once_and_a_new_file_nothing() {
    let counting = Arc::new(Counting { tree: workspace(), calls: 0.into() });
    let overlay = Overlay::new(counting.clone(), Quota::default());
    let calls = || counting.calls.swap(0, std::sync::atomic::Ordering::Relaxed);
    block_on(overlay.write(&path("src/lib.rs"), b"new\n".to_vec())).unwrap();
    assert_eq!(calls(), 3, "the folder and the file are looked at, and the file is read");
    block_on(overlay.write(&path("src/lib.rs"), b"newer\n".to_vec())).unwrap();
    assert_eq!(calls(), 0, "it is known by now");
    block_on(overlay.write(&path("src/new"), b"new\n".to_vec())).unwrap();
    assert_eq!(calls(), 1, "whether something is there");
    block_on(overlay.rename(&path("src/lib.rs"), &path("src/moved"))).unwrap();
    assert_eq!(calls(), 1, "whether something is where it goes");
}

#[test]
fn a_walk_asks_the_base_once_a_folder_and_twice_a_file() {
    let counting = Arc::new(Counting { tree: workspace(), calls: 0.into() });
    let overlay = Overlay::new(counting.clone(), Quota::default());
    block_on(overlay.write(&path("other/file"), b"staged".to_vec())).unwrap();
    let calls = || counting.calls.swap(0, std::sync::atomic::Ordering::Relaxed);
    calls();
    let mut todo = vec![WorkspacePath::root()];
    let (mut folders, mut files) = (0, 0);
    while let Some(folder) = todo.pop() {
        folders += 1;
        for entry in block_on(overlay.list(&folder)).unwrap() {
            let at = folder.join_bytes(&entry.name).unwrap();
            if entry.kind == EntryKind::Directory {
                todo.push(at);
            } else {
                files += 1;
                block_on(overlay.read(&at)).unwrap();
            }
        }
    }
    assert_eq!((folders, files), (4, 4));
    // Three folders of the base are listed, and the staged folder is looked for. Three files are looked at and read.
    assert_eq!(calls(), 4 + 2 * 3);
    block_on(overlay.read(&path("other/file"))).unwrap();
    assert_eq!(calls(), 0, "what is staged is not looked for in the base");
}

/// A tree whose user once saves a file between a look at the file and the reading of it.
struct SavedMeanwhile {
    tree: Arc<MemoryTree>,
    saves: std::sync::Mutex<Option<&'static str>>,
}

#[async_trait::async_trait]
impl Tree for SavedMeanwhile {
    async fn metadata(&self, path: &WorkspacePath) -> Result<headstart_overlay_fs::Metadata, TreeError> {
        self.tree.metadata(path).await
    }
    async fn read(&self, path: &WorkspacePath) -> Result<Vec<u8>, TreeError> {
        if let Some(content) = self.saves.lock().unwrap().take() {
            self.tree.write(path, content);
        }
        self.tree.read(path).await
    }
    async fn list(&self, path: &WorkspacePath) -> Result<Vec<headstart_overlay_fs::DirEntry>, TreeError> {
        self.tree.list(path).await
    }
    async fn read_link(&self, path: &WorkspacePath) -> Result<Vec<u8>, TreeError> {
        self.tree.read_link(path).await
    }
}

#[test]
fn what_its_user_saves_between_a_look_and_the_reading_of_what_is_replaced_is_not_lost() {
    for saved in ["one\ntwo\nthree\n", "one\nTWO\n"] {
        let tree = workspace();
        let base = Arc::new(SavedMeanwhile { tree: tree.clone(), saves: None.into() });
        let overlay = Overlay::new(base.clone(), Quota::default());
        let text = read(&overlay, "a.txt").unwrap();
        *base.saves.lock().unwrap() = Some(saved);
        block_on(overlay.write(&path("a.txt"), format!("{text}mine\n").into_bytes())).unwrap();
        assert_eq!(read(&*tree, "a.txt").unwrap(), saved, "its user saved while the base was read");
        let outcome = block_on(tree.commit(&overlay.change_set(), CommitOptions::default())).unwrap();
        let CommitOutcome::Conflict(found) = outcome else { panic!("{saved:?} is lost: {outcome:?}") };
        assert_eq!(found[0].kind, ConflictKind::Modified);
        assert_eq!(read(&*tree, "a.txt").unwrap(), saved);
    }
}

#[test]
fn what_was_staged_since_a_savepoint_is_taken_back() {
    let tree = workspace();
    let overlay = over(&tree);
    block_on(async {
        overlay.write(&path("a.txt"), b"new\n".to_vec()).await.unwrap();
        let (savepoint, before, usage) = (overlay.savepoint(), overlay.change_set(), overlay.usage());
        overlay.write(&path("a.txt"), b"newer\n".to_vec()).await.unwrap();
        overlay.rename(&path("src"), &path("lib")).await.unwrap();
        overlay.write(&path("src"), b"a file now".to_vec()).await.unwrap();
        overlay.roll_back(savepoint);
        assert_eq!(overlay.change_set().changes, before.changes);
        assert_eq!(overlay.usage(), usage);
        assert_eq!(overlay.list(&path("src")).await.unwrap().len(), 2);
        overlay.read(&path("src/lib.rs")).await.unwrap();

        let savepoint = overlay.savepoint();
        overlay.read(&path("src/deep/x.rs")).await.unwrap();
        overlay.roll_back(savepoint);
        let reads = overlay.change_set().reads;
        assert!(reads.iter().any(|read| read.path == path("src/deep/x.rs")), "what was read was read");
    });
}
