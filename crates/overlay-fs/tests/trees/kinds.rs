//! Every kind of change, under every kind of name.

use std::sync::Arc;

use futures::executor::block_on;
use headstart_overlay_fs::{
    CommitOptions, CommitOutcome, Committed, MemoryTree, Overlay, Quota, Tree, TreeError, WorkspacePath,
};

use crate::world::{Node, Nodes, World, file, path, snapshot};

fn over<W: World>(world: &Arc<W>) -> Overlay {
    Overlay::new(world.clone(), Quota::default())
}

/// Commits, and checks that the workspace is then what the overlay showed.
fn commit(world: &impl World, overlay: &Overlay) -> Nodes {
    let view = snapshot(overlay);
    let outcome = block_on(world.commit(&overlay.change_set(), CommitOptions::default())).unwrap();
    assert_eq!(outcome, CommitOutcome::Committed(Committed::default()));
    assert_eq!(snapshot(world), view);
    view
}

fn odd_names() -> Vec<Vec<u8>> {
    let mut names: Vec<Vec<u8>> = [
        &b"-rf"[..],
        b"--",
        b"...",
        b"..a",
        b".hidden",
        b" leading and trailing ",
        b"new\nline",
        b"tab\there",
        b"quote\"and\\backslash",
        b"caf\xe9",
        b"\xff\xfe",
        b"case",
        b"CASE",
        "e\u{301}".as_bytes(),
        "\u{e9}".as_bytes(),
        b"*?[a]",
        b"$(touch x)",
        b"\x1b[31m",
    ]
    .map(<[u8]>::to_vec)
    .into();
    names.push(vec![b'n'; 255]);
    names
}

fn odd_names_are_kept_byte_for_byte<W: World>() {
    let names = odd_names();
    let at = |name: &[u8]| WorkspacePath::root().join_bytes(name).unwrap();
    let world = Arc::new(W::empty());
    for name in &names {
        world.put(&at(name).join("old").unwrap(), &file("old\n"));
    }
    let overlay = over(&world);
    block_on(async {
        for name in &names {
            let folder = at(name);
            overlay.write(&folder.join_bytes(name).unwrap(), name.clone()).await.unwrap();
            overlay.rename(&folder.join("old").unwrap(), &folder.join("moved").unwrap()).await.unwrap();
            let mut target = b"./".to_vec();
            target.extend(name);
            overlay.symlink(&folder.join("link").unwrap(), &target).await.unwrap();
        }
    });
    let after = commit(&*world, &overlay);
    assert_eq!(after.len(), names.len() * 4);
    for name in &names {
        assert_eq!(after[&at(name).join_bytes(name).unwrap()], file(name.clone()));
        assert_eq!(block_on(overlay.read(&at(name).join("link").unwrap())).unwrap(), *name);
    }
}

fn a_deep_tree<W: World>() {
    let deep = path(&vec!["d"; 100].join("/"));
    let world = Arc::new(W::empty());
    let overlay = over(&world);
    block_on(overlay.write(&deep.join("file").unwrap(), b"deep\n".to_vec())).unwrap();
    commit(&*world, &overlay);
    let overlay = over(&world);
    block_on(overlay.rename(&path("d/d"), &path("e"))).unwrap();
    let after = commit(&*world, &overlay);
    assert_eq!(after.len(), 101);
    let overlay = over(&world);
    block_on(overlay.remove(&path("e"))).unwrap();
    assert_eq!(commit(&*world, &overlay).into_keys().collect::<Vec<_>>(), [path("d")]);
}

fn links<W: World>() {
    let world = Arc::new(W::of(&Nodes::from([
        (path("a/b/file"), file("content\n")),
        (path("out"), Node::Link(b"../outside".to_vec())),
        (path("absolute"), Node::Link(b"/etc".to_vec())),
        (path("circle"), Node::Link(b"circle".to_vec())),
        (path("a/up"), Node::Link(b"..".to_vec())),
    ])));
    let overlay = over(&world);
    block_on(async {
        for (at, target) in [
            ("one", "a/b"),
            ("a/b/two", "../../a/b/file"),
            ("a/three", "./b//file"),
            ("dangling", "not/there"),
            ("new/folder/four", "../../one/file"),
            ("five", "a/up"),
        ] {
            overlay.symlink(&path(at), target.as_bytes()).await.unwrap();
        }
        for (at, target) in [
            ("l", "/etc/passwd"),
            ("l", "../outside"),
            ("a/l", "../../outside"),
            ("l", ""),
            ("l", "a\0b"),
            ("l", "a/b/../../.."),
            ("l", "a/up/../outside"),
            ("l", "out"),
            ("l", "out/file"),
            ("l", "absolute/passwd"),
            ("l", "circle"),
            ("a/up/out/l", "x"),
        ] {
            let refused = overlay.symlink(&path(at), target.as_bytes()).await;
            assert!(matches!(refused, Err(TreeError::Escapes { .. })), "{at} -> {target}: {refused:?}");
        }
        for at in ["a", "one", "a/b/file", "dangling", "out"] {
            let refused = overlay.symlink(&path(at), b"a").await;
            assert!(matches!(refused, Err(TreeError::AlreadyExists { .. })), "{at}: {refused:?}");
        }
        assert_eq!(overlay.read(&path("new/folder/four")).await.unwrap(), b"content\n");
        assert_eq!(overlay.read(&path("five/a/three")).await.unwrap(), b"content\n");
        overlay.write(&path("one/made through"), b"made\n".to_vec()).await.unwrap();
        // A link is moved and removed as a link, not as its target.
        overlay.rename(&path("one"), &path("uno")).await.unwrap();
        overlay.remove(&path("a/b/two")).await.unwrap();
        overlay.remove(&path("absolute")).await.unwrap();
    });
    let after = commit(&*world, &overlay);
    assert_eq!(after[&path("uno")], Node::Link(b"a/b".to_vec()));
    assert_eq!(after[&path("a/b/made through")], file("made\n"));
    assert!(!after.contains_key(&path("absolute")) && !after.contains_key(&path("one")));
}

fn folders_entry_by_entry<W: World>() {
    let world =
        Arc::new(W::of(&Nodes::from([(path("a/b/file"), file("x")), (path("a/empty"), Node::Folder)])));
    let overlay = over(&world);
    block_on(async {
        overlay.create_dir(&path("made/twice/over")).await.unwrap();
        overlay.remove(&path("a/b")).await.unwrap();
        overlay.create_dir(&path("a/b")).await.unwrap();
        overlay.rename(&path("a/empty"), &path("a/b/empty")).await.unwrap();
        overlay.rename(&path("a"), &path("z")).await.unwrap();
        overlay.rename(&path("made"), &path("a")).await.unwrap();
    });
    let after = commit(&*world, &overlay);
    let paths: Vec<_> = after.keys().map(ToString::to_string).collect();
    assert_eq!(paths, ["a", "a/twice", "a/twice/over", "z", "z/b", "z/b/empty"]);
}

fn what_is_special_is_listed_and_refused<W: World>() {
    let world = Arc::new(W::of(&Nodes::from([(path("d/pipe"), Node::Special), (path("d/file"), file("x"))])));
    let overlay = over(&world);
    block_on(async {
        let pipe = path("d/pipe");
        for refused in [
            overlay.write(&pipe, b"x".to_vec()).await,
            overlay.remove(&pipe).await,
            overlay.rename(&pipe, &path("p")).await,
            overlay.set_executable(&pipe, true).await,
            overlay.remove(&path("d")).await,
            overlay.rename(&path("d"), &path("e")).await,
            overlay.read(&pipe).await.map(drop),
        ] {
            let Err(TreeError::Unsupported { path: at, reason }) = refused else { panic!("{refused:?}") };
            assert_eq!(at, pipe);
            assert!(reason.contains("FIFO") || reason.contains("not a regular file"), "{reason}");
        }
        overlay.write(&path("d/file"), b"y".to_vec()).await.unwrap();
    });
    commit(&*world, &overlay);
}

fn every_quota_has_a_word_of_its_own<W: World>() {
    let world = Arc::new(W::of(&Nodes::from([
        (path("large"), file(vec![b'x'; 50])),
        (path("d/1"), file("1")),
        (path("d/2"), file("2")),
    ])));
    let quota = Quota { files: 2, bytes: 60, file_bytes: 40, depth: 3 };
    let overlay = Overlay::new(world.clone(), quota);
    let (a, b) = (path("a"), path("b"));
    block_on(async {
        let cases = [
            (overlay.write(&a, vec![0; 41]).await, "bytes in one file", 40),
            (overlay.write(&path("large"), vec![]).await, "bytes in one file", 40),
            (overlay.remove(&path("large")).await, "bytes in one file", 40),
            (overlay.write(&path("1/2/3/4"), vec![]).await, "names in a path", 3),
            (overlay.create_dir(&path("1/2/3/4")).await, "names in a path", 3),
            (overlay.symlink(&path("1/2/3/4"), b"x").await, "names in a path", 3),
            (overlay.rename(&path("d"), &path("1/2/3")).await, "files", 2),
            (overlay.rename(&path("d/1"), &path("1/2/3/4")).await, "names in a path", 3),
            (overlay.remove(&path("d")).await, "files", 2),
        ];
        for (refused, unit, limit) in cases {
            let Err(TreeError::Quota { unit: found, limit: of, .. }) = &refused else {
                panic!("{unit}: {refused:?}")
            };
            assert_eq!((*found, *of), (unit, limit));
        }
        overlay.write(&a, vec![0; 40]).await.unwrap();
        let full = overlay.write(&b, vec![0; 21]).await.unwrap_err();
        assert!(matches!(full, TreeError::Quota { unit: "bytes", limit: 60, .. }), "{full:?}");
        overlay.write(&path("1/2/3"), vec![0; 20]).await.unwrap();
        let full = overlay.write(&b, vec![]).await.unwrap_err();
        assert!(matches!(full, TreeError::Quota { unit: "files", limit: 2, .. }), "{full:?}");
    });
    assert_eq!(commit(&*world, &overlay).len(), 4 + 4);
}

on_every_tree!(
    odd_names_are_kept_byte_for_byte,
    a_deep_tree,
    links,
    folders_entry_by_entry,
    what_is_special_is_listed_and_refused,
    every_quota_has_a_word_of_its_own,
);
