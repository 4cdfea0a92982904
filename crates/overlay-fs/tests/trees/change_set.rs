//! A change set that is sent to another process, applied to another checkout, or joined with the one on top of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::executor::block_on;
use headstart_overlay_fs::{
    ChangeSet, ChangeSetByHash, CommitOptions, CommitOutcome, Committed, ContentError, MemoryTree, Overlay,
    Quota, Tree,
};

use crate::world::{Node, Nodes, World, file, path, snapshot};

const LONG: &str = "one\ntwo\nthree\nfour\nfive\n";

fn start() -> Nodes {
    Nodes::from([
        (path("long"), file(LONG)),
        (path("read"), file("read\n")),
        (path("src/a"), file("a\n")),
        (path("src/b"), file([0, 1, 2])),
        (path("link"), Node::Link(b"src".to_vec())),
    ])
}

/// Every kind of change, and something that was read and something that was listed.
fn changes<W: World>() -> (ChangeSet, Nodes) {
    let world = Arc::new(W::of(&start()));
    let overlay = Overlay::new(world, Quota::default());
    block_on(async {
        overlay.read(&path("read")).await.unwrap();
        overlay.list(&path("src")).await.unwrap();
        overlay.read(&path("link/a")).await.unwrap();
        overlay.write(&path("long"), LONG.replace("one", "ONE").into()).await.unwrap();
        overlay.rename(&path("src/b"), &path("moved/b")).await.unwrap();
        overlay.set_executable(&path("moved/b"), true).await.unwrap();
        overlay.symlink(&path("src/new link"), b"../moved").await.unwrap();
        overlay.create_dir(&path("empty")).await.unwrap();
        overlay.write(&path("twin of a"), b"a\n".to_vec()).await.unwrap();
    });
    let changes = overlay.change_set();
    (changes, snapshot(&overlay))
}

fn by_hash_and_back<W: World>() {
    let (changes, _) = changes::<W>();
    let small = serde_json::to_string(&changes.by_hash()).unwrap();
    assert!(!small.contains("three"), "{small}");
    let kept: BTreeMap<_, _> = changes.contents().map(|(hash, content)| (hash, content.to_vec())).collect();
    let small: ChangeSetByHash = serde_json::from_str(&small).unwrap();
    assert_eq!(small.with_contents(|hash| kept.get(&hash).cloned()), Ok(changes));

    for hash in kept.keys() {
        let missing = small.with_contents(|asked| kept.get(&asked).filter(|_| asked != *hash).cloned());
        assert!(matches!(missing, Err(ContentError::Missing { hash: of, .. }) if of == *hash), "{missing:?}");
        let damaged = small
            .with_contents(|asked| if asked == *hash { Some(vec![9]) } else { kept.get(&asked).cloned() });
        assert!(matches!(damaged, Err(ContentError::Damaged { hash: of, .. }) if of == *hash), "{damaged:?}");
    }
}

/// In another checkout only names and contents are the same, but no inode and no time. The changes apply nevertheless.
fn it_is_applied_to_another_checkout<W: World>() {
    let (changes, expected) = changes::<W>();
    let other = W::empty();
    for (at, node) in start().iter().rev() {
        other.put(at, node);
    }
    let outcome = block_on(other.commit(&changes, CommitOptions::default())).unwrap();
    assert_eq!(outcome, CommitOutcome::Committed(Committed::default()));
    assert_eq!(snapshot(&other), expected);

    // In one checkout the user has edited another place of the file, in a second one the same place.
    let ahead = W::of(&start());
    ahead.put(&path("long"), &file(LONG.replace("five", "FIVE")));
    let outcome = block_on(ahead.commit(&changes, CommitOptions::default())).unwrap();
    let merged = Committed { merged: vec![path("long")], ..Committed::default() };
    assert_eq!(outcome, CommitOutcome::Committed(merged));
    // If the user has edited a file that the changes move, the edit moves along.
    let ahead = W::of(&start());
    ahead.put(&path("src/b"), &file([0, 1, 3]));
    let outcome = block_on(ahead.commit(&changes, CommitOptions::default())).unwrap();
    let merged = Committed { merged: vec![path("moved/b")], ..Committed::default() };
    assert_eq!(outcome, CommitOutcome::Committed(merged));
    assert_eq!(snapshot(&ahead)[&path("moved/b")], Node::File(vec![0, 1, 3], true));
    for (at, node) in [("long", file(LONG.replace("one", "1"))), ("read", file("READ\n"))] {
        let ahead = W::of(&start());
        ahead.put(&path(at), &node);
        let before = snapshot(&ahead);
        let outcome = block_on(ahead.commit(&changes, CommitOptions::default())).unwrap();
        let CommitOutcome::Conflict(found) = outcome else { panic!("{at} was overwritten") };
        assert_eq!(found[0].path, path(at));
        assert_eq!(snapshot(&ahead), before);
    }
}

/// One overlay moves a file, and the one above it edits the file there. If both are committed as one change set, an
/// edit of the user goes along, as it does when they are committed one after the other.
fn a_move_below_and_an_edit_above<W: World>() {
    let at_once = Arc::new(W::of(&start()));
    let lower = Arc::new(Overlay::new(at_once.clone(), Quota::default()));
    block_on(lower.rename(&path("long"), &path("moved"))).unwrap();
    let upper = Overlay::new(lower.clone(), Quota::default());
    block_on(upper.write(&path("moved"), LONG.replace("one", "ONE").into())).unwrap();
    let (below, above) = (lower.change_set(), upper.change_set());
    let one_by_one = W::of(&start());
    for world in [&*at_once, &one_by_one] {
        world.put(&path("long"), &file(LONG.replace("five", "FIVE")));
    }
    let mut committed = block_on(at_once.commit(&below.then(&above), CommitOptions::default())).unwrap();
    let merged = CommitOutcome::Committed(Committed { merged: vec![path("moved")], ..Committed::default() });
    assert_eq!(committed, merged);
    for changes in [&below, &above] {
        committed = block_on(one_by_one.commit(changes, CommitOptions::default())).unwrap();
        assert_eq!(committed, merged);
    }
    assert_eq!(snapshot(&*at_once), snapshot(&one_by_one));
    let both = LONG.replace("one", "ONE").replace("five", "FIVE");
    assert_eq!(snapshot(&*at_once)[&path("moved")], file(both));
}

on_every_tree!(by_hash_and_back, it_is_applied_to_another_checkout, a_move_below_and_an_edit_above);
