//! Everything that an agent can do to a path, combined with everything that its user can do to it meanwhile.

use std::sync::Arc;

use futures::executor::block_on;
use headstart_overlay_fs::{
    ChangeSet, CommitOptions, CommitOutcome, Committed, Conflict, ConflictKind, EntryKind, MemoryTree, Merge,
    Overlay, Quota, Resolution, StaleReads, Tree, TreeError, resolve,
};

use crate::world::{Node, Nodes, World, file, path, snapshot};

const BASE: &str = "one\ntwo\nthree\nfour\nfive\n";
const AGENTS: &str = "ONE\ntwo\nthree\nfour\nfive\n";
/// Texts with an edit of the user: far from the agent's edit, and in the same place.
const ELSEWHERE: &str = "one\ntwo\nthree\nfour\nFIVE\n";
const SAME_PLACE: &str = "1\ntwo\nthree\nfour\nfive\n";
const BOTH: &str = "ONE\ntwo\nthree\nfour\nFIVE\n";
const BINARY: &[u8] = b"\0one\ntwo\nthree\nfour\nfive\n";

/// What the agent does to `f` (a text), `new` (which does not exist) or `d` (a folder with `d/x` in it).
#[derive(Debug, Clone, Copy, PartialEq)]
enum Agent {
    Modify,
    Remove,
    Rename,
    RenameAndModify,
    MakeExecutable,
    ReplaceByFolder,
    ReplaceByLink,
    Read,
    Create,
    CreateFolder,
    CreateLink,
    RemoveFolder,
    RenameFolder,
    List,
    LookInVain,
}
use Agent::{
    Create, CreateFolder, CreateLink, List, LookInVain, MakeExecutable, Modify, Read, Remove, RemoveFolder,
    Rename, RenameAndModify, RenameFolder, ReplaceByFolder, ReplaceByLink,
};

/// What the user does meanwhile, and to which path.
#[derive(Debug, Clone, Copy, PartialEq)]
enum User {
    Nothing,
    Writes(&'static str, &'static [u8]),
    SetsExecutable(&'static str),
    Removes(&'static str),
    MakesFolder(&'static str),
    MakesLink(&'static str),
    MakesSpecial(&'static str),
}
use User::{MakesFolder, MakesLink, MakesSpecial, Nothing, Removes, SetsExecutable, Writes};

/// The expected outcome of the commit.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Expected {
    /// The changes are applied as if the user had done nothing.
    Applied,
    /// The file at this path has this content, merged of both edits.
    Merged(&'static str, &'static [u8]),
    Conflicts(&'static [(&'static str, ConflictKind)]),
}
use ConflictKind::{Created, Deleted, Modified, Replaced, StaleRead};
use Expected::{Applied, Conflicts, Merged};

const fn text(text: &'static str) -> &'static [u8] {
    text.as_bytes()
}

/// The whole table. Every row is run on every tree.
fn table() -> Vec<(Agent, User, Expected)> {
    let mut rows = vec![
        (Modify, Nothing, Applied),
        (Modify, Writes("f", text(BASE)), Applied),
        (Modify, Writes("f", text(ELSEWHERE)), Merged("f", text(BOTH))),
        (Modify, Writes("f", text(AGENTS)), Merged("f", text(AGENTS))),
        (Modify, Writes("f", text(SAME_PLACE)), Conflicts(&[("f", Modified)])),
        (Modify, Writes("f", b""), Conflicts(&[("f", Modified)])),
        (Modify, Writes("f", BINARY), Conflicts(&[("f", Modified)])),
        (Remove, Nothing, Applied),
        (Remove, Writes("f", text(BASE)), Applied),
        (Remove, Writes("f", text(ELSEWHERE)), Conflicts(&[("f", Modified)])),
        (Rename, Nothing, Applied),
        (Rename, Writes("f", text(BASE)), Applied),
        (Rename, Writes("f", text(ELSEWHERE)), Merged("new", text(ELSEWHERE))),
        (Rename, Writes("f", BINARY), Merged("new", BINARY)),
        (RenameAndModify, Nothing, Applied),
        (RenameAndModify, Writes("f", text(BASE)), Applied),
        (RenameAndModify, Writes("f", text(ELSEWHERE)), Merged("new", text(BOTH))),
        (RenameAndModify, Writes("f", text(SAME_PLACE)), Conflicts(&[("f", Modified)])),
        (RenameAndModify, Writes("f", BINARY), Conflicts(&[("f", Modified)])),
        (RenameAndModify, Writes("new", b"mine"), Conflicts(&[("new", Created)])),
        (Rename, Writes("new", b"mine"), Conflicts(&[("new", Created)])),
        (Rename, MakesFolder("new"), Conflicts(&[("new", Created)])),
        (MakeExecutable, Nothing, Applied),
        (MakeExecutable, SetsExecutable("f"), Applied),
        (MakeExecutable, Writes("f", text(ELSEWHERE)), Merged("f", text(ELSEWHERE))),
        (MakeExecutable, Writes("f", BINARY), Merged("f", BINARY)),
        (ReplaceByFolder, Nothing, Applied),
        (ReplaceByFolder, Writes("f", text(ELSEWHERE)), Conflicts(&[("f", Modified)])),
        (ReplaceByLink, Nothing, Applied),
        (ReplaceByLink, Writes("f", text(ELSEWHERE)), Conflicts(&[("f", Modified)])),
        (Read, Nothing, Applied),
        (Read, Writes("f", text(BASE)), Applied),
        (Read, Writes("other", b"mine"), Applied),
        (Read, Writes("f", text(ELSEWHERE)), Conflicts(&[("f", StaleRead)])),
        (Read, Writes("f", text(SAME_PLACE)), Conflicts(&[("f", StaleRead)])),
        (CreateFolder, MakesFolder("new"), Applied),
        (Create, Writes("new", b"agent\n"), Applied),
        (Create, Writes("new/inside", b"mine"), Conflicts(&[("new", Created)])),
        (RemoveFolder, Nothing, Applied),
        (RemoveFolder, Writes("d/x", b"mine"), Conflicts(&[("d/x", Modified)])),
        (RemoveFolder, Writes("d/y", b"mine"), Conflicts(&[("d", Modified)])),
        (RemoveFolder, Removes("d/x"), Conflicts(&[("d", Modified), ("d/x", Deleted)])),
        (RemoveFolder, Removes("d"), Conflicts(&[("d", Deleted), ("d/x", Deleted)])),
        (RemoveFolder, MakesLink("d"), Conflicts(&[("d", Replaced), ("d/x", Deleted)])),
        (RenameFolder, Nothing, Applied),
        (RenameFolder, Writes("d/x", b"mine"), Merged("new/x", b"mine")),
        (RenameFolder, Writes("d/y", b"mine"), Conflicts(&[("d", Modified)])),
        (RenameFolder, Writes("new", b"mine"), Conflicts(&[("new", Created)])),
        (List, Nothing, Applied),
        (List, Writes("d/x", b"mine"), Applied),
        (List, Writes("d/y", b"mine"), Conflicts(&[("d", StaleRead)])),
        (List, Removes("d/x"), Conflicts(&[("d", StaleRead)])),
        (List, Removes("d"), Conflicts(&[("d", StaleRead)])),
        (List, MakesLink("d"), Conflicts(&[("d", StaleRead)])),
        (LookInVain, Nothing, Applied),
        (LookInVain, Writes("new", b"mine"), Conflicts(&[("new", StaleRead)])),
        (LookInVain, MakesFolder("new"), Conflicts(&[("new", StaleRead)])),
    ];
    for agent in [Modify, Remove, Rename, RenameAndModify, MakeExecutable, ReplaceByFolder, ReplaceByLink] {
        rows.push((agent, SetsExecutable("f"), Applied));
        rows.push((agent, Removes("f"), Conflicts(&[("f", Deleted)])));
        for user in [MakesFolder("f"), MakesLink("f"), MakesSpecial("f")] {
            rows.push((agent, user, Conflicts(&[("f", Replaced)])));
        }
    }
    for user in [Removes("f"), MakesFolder("f"), MakesLink("f"), MakesSpecial("f")] {
        rows.push((Read, user, Conflicts(&[("f", StaleRead)])));
    }
    for agent in [Create, CreateFolder, CreateLink] {
        rows.push((agent, Nothing, Applied));
        for user in [Writes("new", b""), MakesLink("new"), MakesSpecial("new")] {
            rows.push((agent, user, Conflicts(&[("new", Created)])));
        }
    }
    for agent in [Create, CreateLink] {
        rows.push((agent, MakesFolder("new"), Conflicts(&[("new", Created)])));
    }
    rows
}

fn start() -> Nodes {
    let nodes = [("f", file(BASE)), ("d", Node::Folder), ("d/x", file("x\n")), ("far", file("far\n"))];
    nodes.into_iter().map(|(at, node)| (path(at), node)).collect()
}

async fn stage(overlay: &Overlay, agent: Agent) -> Result<(), TreeError> {
    let (f, new, d) = (path("f"), path("new"), path("d"));
    // One more file is staged, so that there is always something to commit, which a conflict must leave out.
    overlay.write(&path("made"), b"made\n".to_vec()).await?;
    match agent {
        Modify => overlay.write(&f, AGENTS.into()).await,
        Remove => overlay.remove(&f).await,
        Rename => overlay.rename(&f, &new).await,
        RenameAndModify => {
            overlay.rename(&f, &new).await?;
            overlay.write(&new, AGENTS.into()).await
        }
        MakeExecutable => overlay.set_executable(&f, true).await,
        ReplaceByFolder => {
            overlay.remove(&f).await?;
            overlay.write(&path("f/inside"), b"inside\n".to_vec()).await
        }
        ReplaceByLink => {
            overlay.remove(&f).await?;
            overlay.symlink(&f, b"d/x").await
        }
        Read => overlay.read(&f).await.map(drop),
        Create => overlay.write(&new, b"agent\n".to_vec()).await,
        CreateFolder => overlay.create_dir(&new).await,
        CreateLink => overlay.symlink(&new, b"far").await,
        RemoveFolder => overlay.remove(&d).await,
        RenameFolder => overlay.rename(&d, &new).await,
        List => overlay.list(&d).await.map(drop),
        LookInVain => {
            let looked = overlay.read(&new).await;
            assert!(matches!(looked, Err(TreeError::NotFound { .. })), "{looked:?}");
            Ok(())
        }
    }
}

fn meanwhile(world: &impl World, user: User) {
    match user {
        Nothing => {}
        Writes(at, content) => world.put(&path(at), &file(content)),
        SetsExecutable(at) => world.put(&path(at), &Node::File(BASE.into(), true)),
        Removes(at) => world.remove(&path(at)),
        MakesFolder(at) => world.put(&path(at), &Node::Folder),
        MakesLink(at) => world.put(&path(at), &Node::Link(b"far".to_vec())),
        MakesSpecial(at) => world.put(&path(at), &Node::Special),
    }
}

fn commit(world: &impl World, changes: &ChangeSet, options: CommitOptions) -> CommitOutcome {
    let before = snapshot(world);
    let asked = block_on(resolve(world, changes, options)).unwrap();
    assert_eq!(snapshot(world), before, "asking changes nothing");
    let outcome = block_on(world.commit(changes, options)).unwrap();
    match (&asked, &outcome) {
        (Resolution::Conflict(asked), CommitOutcome::Conflict(found)) => {
            assert_eq!(asked, found);
            assert_eq!(snapshot(world), before, "a conflict changes nothing");
        }
        (Resolution::Apply { committed: asked, .. }, CommitOutcome::Committed(committed)) => {
            assert_eq!(asked, committed);
        }
        _ => panic!("asked {asked:?}, got {outcome:?}"),
    }
    outcome
}

fn kinds(conflicts: &[Conflict]) -> Vec<(String, ConflictKind)> {
    conflicts.iter().map(|conflict| (conflict.path.to_string(), conflict.kind)).collect()
}

fn staged<W: World>(agent: Agent) -> (Arc<W>, Overlay) {
    let world = Arc::new(W::of(&start()));
    let overlay = Overlay::new(world.clone(), Quota::default());
    block_on(stage(&overlay, agent)).unwrap();
    assert_eq!(snapshot(&*world), start());
    (world, overlay)
}

fn every_row<W: World>() {
    for (agent, user, expected) in table() {
        let row = format!("the agent: {agent:?}, the user: {user:?}");
        let (world, overlay) = staged::<W>(agent);
        // The overlay is opened again, because looking at it would add to its read set.
        let changes = overlay.change_set();
        let again = Overlay::from_change_set(world.clone(), Quota::default(), &changes).unwrap();
        let view = snapshot(&again);
        meanwhile(&*world, user);
        let users = snapshot(&*world);
        let outcome = commit(&*world, &changes, CommitOptions::default());
        let after = snapshot(&*world);
        match (expected, outcome) {
            (Conflicts(expected), CommitOutcome::Conflict(found)) => {
                let expected: Vec<_> = expected.iter().map(|(at, kind)| ((*at).to_owned(), *kind)).collect();
                assert_eq!(kinds(&found), expected, "{row}");
                for conflict in found {
                    let there = users.get(&conflict.path);
                    // If the user has put a link above the path, the link is what the conflict finds.
                    let is_below = conflict.kind == Replaced && there.is_none();
                    assert!(is_below || conflict.found.is_some() == there.is_some(), "{row}: {conflict:?}");
                    let is_staged = changes.changes.iter().any(|change| change.path == conflict.path);
                    let view = view.get(&conflict.path).filter(|_| is_staged);
                    assert_eq!(conflict.staged.is_some(), view.is_some(), "{row}: {conflict:?}");
                }
            }
            (Applied, CommitOutcome::Committed(committed)) => {
                assert_eq!(committed, Committed::default(), "{row}");
                let mut expected = view;
                match user {
                    // A file that only the user touched is as the user left it.
                    Writes(at @ ("other" | "d/x"), _) => {
                        expected.insert(path(at), users[&path(at)].clone());
                    }
                    SetsExecutable(at) => {
                        let at = if matches!(agent, Rename | RenameAndModify) { "new" } else { at };
                        if let Some(Node::File(_, executable)) = expected.get_mut(&path(at)) {
                            *executable = true;
                        }
                    }
                    _ => {}
                }
                assert_eq!(after, expected, "{row}");
            }
            (Merged(at, content), CommitOutcome::Committed(committed)) => {
                let mut expected = view;
                let Some(Node::File(bytes, _)) = expected.get_mut(&path(at)) else { panic!("{row}") };
                *bytes = content.to_vec();
                assert_eq!(after, expected, "{row}");
                assert_eq!(committed, Committed { merged: vec![path(at)], stale_reads: vec![] }, "{row}");
            }
            (expected, outcome) => panic!("{row}: expected {expected:?}, got {outcome:?}"),
        }
    }
}

fn policies<W: World>() {
    let never = CommitOptions { merge: Merge::Never, ..CommitOptions::default() };
    let warn = CommitOptions { stale_reads: StaleReads::Warn, ..CommitOptions::default() };

    let (world, overlay) = staged::<W>(Modify);
    meanwhile(&*world, Writes("f", text(ELSEWHERE)));
    let CommitOutcome::Conflict(found) = commit(&*world, &overlay.change_set(), never) else {
        panic!("merged")
    };
    assert_eq!(kinds(&found), [("f".to_owned(), Modified)]);
    let (staged_side, found_side) = (found[0].staged.clone().unwrap(), found[0].found.clone().unwrap());
    assert_eq!((staged_side.kind, staged_side.len), (EntryKind::File, AGENTS.len() as u64));
    assert_eq!(found_side.content, Some(headstart_overlay_fs::ContentHash::of(ELSEWHERE.as_bytes())));

    for (agent, user, at) in [
        (Read, Writes("f", text(ELSEWHERE)), "f"),
        (Read, Removes("f"), "f"),
        (List, Writes("d/y", b"mine"), "d"),
        (LookInVain, Writes("new", b"mine"), "new"),
    ] {
        let (world, overlay) = staged::<W>(agent);
        meanwhile(&*world, user);
        let mut expected = snapshot(&*world);
        let CommitOutcome::Committed(committed) = commit(&*world, &overlay.change_set(), warn) else {
            panic!("{agent:?}")
        };
        assert_eq!(kinds(&committed.stale_reads), [(at.to_owned(), StaleRead)], "{agent:?}");
        expected.insert(path("made"), file("made\n"));
        assert_eq!(snapshot(&*world), expected, "{agent:?}");
    }
    // An edit of a file that the work writes is a conflict even if stale reads are only warned of.
    let (world, overlay) = staged::<W>(Modify);
    meanwhile(&*world, Writes("f", text(SAME_PLACE)));
    assert!(matches!(commit(&*world, &overlay.change_set(), warn), CommitOutcome::Conflict(_)));
}

/// The work is based on the first look. A merge would start from a text that the agent never saw.
fn first_look<W: World>() {
    let world = Arc::new(W::of(&start()));
    let overlay = Overlay::new(world.clone(), Quota::default());
    block_on(overlay.read(&path("f"))).unwrap();
    meanwhile(&*world, Writes("f", text(ELSEWHERE)));
    block_on(overlay.write(&path("f"), AGENTS.into())).unwrap();
    let outcome = commit(
        &*world,
        &overlay.change_set(),
        CommitOptions { stale_reads: StaleReads::Warn, ..Default::default() },
    );
    let CommitOutcome::Conflict(found) = outcome else { panic!("the user's edit is lost") };
    assert_eq!(kinds(&found), [("f".to_owned(), Modified)]);
}

/// The file is looked at, edited by its user without a change of its length, read, and edited in the same way once
/// more.
fn a_read_after_a_look<W: World>() {
    let world = Arc::new(W::of(&start()));
    let overlay = Overlay::new(world.clone(), Quota::default());
    block_on(overlay.write(&path("made"), b"made\n".to_vec())).unwrap();
    block_on(overlay.metadata(&path("f"))).unwrap();
    meanwhile(&*world, Writes("f", text(BASE)));
    block_on(overlay.read(&path("f"))).unwrap();
    meanwhile(&*world, Writes("f", text(ELSEWHERE)));
    let outcome = commit(&*world, &overlay.change_set(), CommitOptions::default());
    let CommitOutcome::Conflict(found) = outcome else { panic!("a stale read went unnoticed") };
    assert_eq!(kinds(&found), [("f".to_owned(), StaleRead)]);
}

/// A staging that fails stages nothing, so it cannot conflict with anything the user does.
fn failed_staging<W: World>() {
    let world = Arc::new(W::of(&start()));
    let overlay = Overlay::new(world.clone(), Quota { file_bytes: 30, ..Quota::default() });
    block_on(async {
        overlay.write(&path("f"), vec![b'x'; 31]).await.unwrap_err();
        overlay.rename(&path("d"), &path("far")).await.unwrap_err();
        overlay.create_dir(&path("d")).await.unwrap_err();
        overlay.symlink(&path("new"), b"../out").await.unwrap_err();
        overlay.remove(&path("none")).await.unwrap_err();
    });
    assert!(overlay.change_set().is_empty());
    let before = snapshot(&*world);
    let outcome = commit(&*world, &overlay.change_set(), CommitOptions::default());
    assert_eq!((outcome, snapshot(&*world)), (CommitOutcome::Committed(Committed::default()), before));
}

on_every_tree!(every_row, policies, first_look, a_read_after_a_look, failed_staging);
