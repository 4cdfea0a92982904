//! Plays a history that is encoded in bytes: staging, stacking, edits of the user, commits, crashes, undos. Panics if a
//! tree or an overlay does not do what the model says.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::executor::block_on;
use headstart_overlay_fs::{
    Change, ChangeKind, ChangeSet, CommitOptions, CommitOutcome, Committed, ConflictKind, Merge, Overlay,
    Quota, StaleReads, Tree, WorkspacePath,
};

use crate::model::{Content, Model, Op, PLACES, Place, parents};
use crate::world::{Node, Nodes, Undone, World, path, snapshot};

/// The paths of histories. There are few, so that the two sides meet: nested ones, one that sorts between a folder and
/// its content, and some that often are links.
const PATHS: [&str; 14] =
    ["a", "a-", "a/b", "a/b/c", "a/b/d", "a/e", "f", "f/a", "f/a/b", "g", "l", "l/b", "a/l", "a/l/c"];
const TARGETS: [&str; 10] =
    ["a", "a/b", "../g", "f", "l", "b", "missing/x", "../../out", "/absolute", "a/../g"];

/// What a history may contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Staging, edits, commits.
    Commits,
    /// Crashes, recoveries and undos too, if the tree supports them.
    All,
}

/// Reads a history from bytes. After the end of the bytes it reads zeros.
struct Bytes<'a>(&'a [u8], Scope);

impl Bytes<'_> {
    fn below(&mut self, limit: usize) -> usize {
        let (first, rest) = self.0.split_first().unwrap_or((&0, &[]));
        self.0 = rest;
        usize::from(*first) % limit
    }

    /// A number below the limit for something that only some histories contain; 0 means that it does not happen.
    fn perhaps(&mut self, limit: usize) -> usize {
        if self.1 == Scope::All { self.below(limit) } else { 0 }
    }

    fn value(&mut self) -> u8 {
        u8::try_from(self.below(3)).unwrap_or(0)
    }

    fn path(&mut self) -> WorkspacePath {
        path(PATHS[self.below(PATHS.len())])
    }

    fn content(&mut self) -> Content {
        match self.below(6) {
            0 => Content::Empty,
            1 => Content::Binary(self.value()),
            _ => Content::Places([self.value(); PLACES]),
        }
    }

    fn op(&mut self) -> Op {
        match self.below(16) {
            0..3 => Op::Write(self.path(), self.content()),
            3..7 => Op::Edit(self.path(), self.below(PLACES), self.value()),
            7..9 => Op::Remove(self.path()),
            9..11 => Op::Rename(self.path(), self.path()),
            11 => Op::CreateDir(self.path()),
            12 => Op::Symlink(self.path(), TARGETS[self.below(TARGETS.len())]),
            13 => Op::SetExecutable(self.path(), self.below(2) == 1),
            14 => Op::Read(self.path()),
            _ => Op::List(self.path()),
        }
    }

    fn ops(&mut self, most: usize) -> Vec<Op> {
        (0..self.below(most + 1)).map(|_| self.op()).collect()
    }

    fn options(&mut self) -> CommitOptions {
        CommitOptions {
            stale_reads: if self.below(3) == 2 { StaleReads::Warn } else { StaleReads::Conflict },
            merge: if self.below(4) == 3 { Merge::Never } else { Merge::Text },
            repeated: false,
            turn: None,
            breaks_hard_links: false,
        }
    }
}

/// Plays the history on one kind of tree.
pub(crate) fn play<W: World>(bytes: &[u8], scope: Scope) {
    let mut bytes = Bytes(bytes, scope);
    let mut start = Model::default();
    for op in bytes.ops(10) {
        start.apply(&op);
    }
    let world = Arc::new(W::of(&start.full()));
    let mut made = Vec::new();
    while !bytes.0.is_empty() {
        round(&world, &mut bytes, &mut made);
        if bytes.perhaps(3) == 2 {
            let before = Model(snapshot(&*world));
            let mut user = before.clone();
            for op in bytes.ops(2) {
                user.apply(&op);
                user = Model(user.full());
            }
            edit(&*world, &before, &user);
            for _ in 0..=bytes.below(2) {
                made.pop().inspect(|last| undo(&*world, last, &mut bytes));
            }
        }
    }
}

/// A commit that went through, and the tree before and after it.
struct Made {
    changes: ChangeSet,
    before: Model,
    after: Model,
}

/// Undoes a commit, perhaps after a first try that dies.
fn undo<W: World>(world: &W, made: &Made, bytes: &mut Bytes<'_>) {
    let now = Model(snapshot(world));
    let is_untouched = now == made.after;
    if is_untouched && bytes.perhaps(3) == 2 {
        world.undo_and_die(&made.changes, bytes.below(256));
        let found = Model(snapshot(world));
        assert!(found == now || found == made.before, "neither undone nor not: {found:?}");
    }
    let found = Model(snapshot(world));
    let Some(outcome) = world.undo(&made.changes) else { return };
    let after = Model(snapshot(world));
    match outcome {
        Undone::Yes if is_untouched => assert_eq!(after, made.before, "undone {:?}", made.changes),
        Undone::Yes => {
            for (at, node) in &now.0 {
                // A folder may disappear with the change that made it. Its content is checked by itself.
                let is_users = *node != Node::Folder && made.after.at(at).as_ref() != Some(node);
                assert!(!is_users || after.at(at).as_ref() == Some(node), "the user's edit of {at} is lost");
            }
            for change in &made.changes.changes {
                let at = &change.path;
                let (then, found) = (made.before.at(at), after.at(at));
                let is_filled = found == Some(Node::Folder) && !after.children(at).is_empty();
                // If the user put something in the place of a folder that the commit had made, it stays.
                let is_users = change.kind == ChangeKind::CreateDirectory && found == now.at(at);
                assert!(then == found || is_filled || is_users, "{at} is not as it was: {:?}", made.changes);
            }
        }
        Undone::Conflict(found) => {
            assert_eq!(after, now, "a conflict changes nothing");
            assert!(
                !is_untouched && !found.is_empty(),
                "nobody is in the way: {found:?} of {:?} from {:?} to {now:?}",
                made.changes,
                made.before
            );
            for at in found {
                assert!(is_touched(&made.after, &now, &at), "nobody touched {at}");
            }
        }
        Undone::NotKept => {
            assert!(made.changes.is_empty(), "it is kept");
            assert_eq!(after, found);
        }
    }
}

/// One speculation, or two on top of each other, from the first look to the commit.
fn round<W: World>(world: &Arc<W>, bytes: &mut Bytes<'_>, made: &mut Vec<Made>) {
    let before = Model(snapshot(&**world));
    let (mut lower, mut lower_model) =
        (Arc::new(Overlay::new(world.clone(), Quota::default())), before.clone());
    let mut reads = BTreeSet::new();
    for op in bytes.ops(10) {
        stage(&lower, &mut lower_model, &op);
        if let Op::Read(at) = &op
            && let Ok(Place::At(at)) = lower_model.resolve(at, true)
        {
            reads.insert(at);
        }
        if bytes.below(8) == 7 {
            lower = Arc::new(reopened(world.clone(), &lower, bytes));
            lower_model.forget_what_was_implied(&before);
        }
    }
    let mut upper = Overlay::new(lower.clone(), Quota::default());
    // For the upper overlay, the folders of the lower one exist by themselves.
    let mut upper_model = Model(lower_model.full());
    for op in bytes.ops(6) {
        stage(&upper, &mut upper_model, &op);
        if bytes.below(8) == 7 {
            upper = reopened(lower.clone(), &upper, bytes);
            upper_model.forget_what_was_implied(&lower_model);
        }
    }
    let (lower_changes, upper_changes) = (lower.change_set(), upper.change_set());
    assert_eq!(snapshot(&*lower), lower_model.full());
    assert_eq!(snapshot(&upper), upper_model.full());
    if bytes.perhaps(3) == 2 {
        block_on(world.prepare(&lower_changes)).unwrap();
    }
    assert_eq!(snapshot(&**world), before.0, "the workspace is not touched");

    let mut user = before.clone();
    for op in bytes.ops(4) {
        user.apply(&op);
        user = Model(user.full());
    }
    edit(&**world, &before, &user);
    let has_edited = user != before;
    let options = bytes.options();
    let twin = W::of(&user.0);

    let outcome = if bytes.perhaps(4) == 3 {
        commit_and_die(&**world, [&before, &user], &lower_changes, options, bytes.below(256))
    } else {
        block_on(world.commit(&lower_changes, options)).unwrap()
    };
    let after = Model(snapshot(&**world));
    assert!(
        has_edited || matches!(outcome, CommitOutcome::Committed(_)),
        "nobody is in the way: {outcome:?}"
    );
    judge(&before, &user, &lower_changes, options, &outcome, &after);
    if matches!(outcome, CommitOutcome::Committed(_)) && options.stale_reads == StaleReads::Conflict {
        let is_written = |at: &WorkspacePath| lower_changes.changes.iter().any(|change| change.path == *at);
        for at in reads.iter().filter(|at| before.content(at).is_some() && !is_written(at)) {
            assert_eq!(user.content(at), before.content(at), "{at} was read, and is another file now");
        }
    }
    let both = lower_changes.then(&upper_changes);
    let at_once = block_on(twin.commit(&both, options)).unwrap();
    judge(&before, &user, &both, options, &at_once, &Model(snapshot(&twin)));
    if matches!(outcome, CommitOutcome::Conflict(_)) {
        assert!(has_edited);
        return;
    }
    made.push(Made { changes: lower_changes.clone(), before: user.clone(), after: after.clone() });
    let second = block_on(world.commit(&upper_changes, options)).unwrap();
    let last = Model(snapshot(&**world));
    judge(&lower_model, &after, &upper_changes, options, &second, &last);
    if matches!(second, CommitOutcome::Committed(_)) {
        made.push(Made { changes: upper_changes.clone(), before: after, after: last.clone() });
    }
    if !has_edited {
        assert!(matches!(second, CommitOutcome::Committed(_)), "nobody is in the way: {second:?}");
        assert!(matches!(at_once, CommitOutcome::Committed(_)), "nobody is in the way: {at_once:?}");
        assert_eq!(last.0, upper_model.full());
        let made: Vec<_> = lower_changes.changes.iter().filter(|change| change.base.is_none()).collect();
        let at_once = without_emptied(snapshot(&twin), &made);
        assert_eq!(at_once, without_emptied(last.0, &made), "one by one, and at once");
    }
}

/// A process dies during the commit, and the next one recovers and commits again. The tree must be old or new, and the
/// commit must be made exactly once.
fn commit_and_die<W: World>(
    world: &W,
    [before, user]: [&Model; 2],
    changes: &ChangeSet,
    options: CommitOptions,
    call: usize,
) -> CommitOutcome {
    if let Some(outcome) = world.commit_and_die(changes, options, call) {
        return outcome.unwrap();
    }
    let found = Model(snapshot(world));
    let is_made = found != *user;
    if is_made {
        assert_eq!(found.0, expected(before, user, changes).0, "neither old nor new");
    }
    let again = CommitOptions { repeated: true, ..options };
    let outcome = block_on(world.commit(changes, again)).unwrap();
    if is_made {
        assert!(matches!(outcome, CommitOutcome::Committed(_)), "it was made before: {outcome:?}");
        assert_eq!(snapshot(world), found.0, "it was made before");
        let merged = expected(before, user, changes).1.into_iter().collect();
        return CommitOutcome::Committed(Committed { merged, ..Committed::default() });
    }
    outcome
}

/// The nodes without empty folders in which the lower change set made something that the upper one removed.
fn without_emptied(mut nodes: Nodes, made: &[&Change]) -> Nodes {
    loop {
        let is_empty = |folder: &WorkspacePath| !nodes.keys().any(|at| at.parent().as_ref() == Some(folder));
        let emptied: Vec<_> = nodes
            .iter()
            .filter(|(at, node)| **node == Node::Folder && is_empty(at))
            .filter(|(at, _)| made.iter().any(|change| parents(&change.path).any(|above| above == **at)))
            .map(|(at, _)| at.clone())
            .collect();
        if emptied.is_empty() {
            return nodes;
        }
        for at in emptied {
            nodes.remove(&at);
        }
    }
}

/// Stages an operation, and checks that it is refused exactly if the model refuses it.
fn stage(overlay: &Overlay, model: &mut Model, op: &Op) {
    let before = overlay.change_set().changes;
    let staged = block_on(async {
        match op {
            Op::Write(at, content) => overlay.write(at, content.bytes()).await,
            Op::Edit(at, place, value) => match overlay.read(at).await.map(|bytes| Content::parse(&bytes)) {
                Ok(Content::Places(mut places)) => {
                    places[*place] = *value;
                    overlay.write(at, Content::Places(places).bytes()).await
                }
                Ok(_) => overlay.write(&WorkspacePath::root(), Vec::new()).await,
                Err(error) => Err(error),
            },
            Op::Remove(at) => overlay.remove(at).await,
            Op::Rename(from, to) => overlay.rename(from, to).await,
            Op::CreateDir(at) => overlay.create_dir(at).await,
            Op::Symlink(at, target) => overlay.symlink(at, target.as_bytes()).await,
            Op::SetExecutable(at, executable) => overlay.set_executable(at, *executable).await,
            Op::Read(at) => overlay.read(at).await.map(|content| {
                let Ok(Place::At(at)) = model.resolve(at, true) else { panic!("{at} leads nowhere") };
                assert_eq!(Some(Content::parse(&content)), model.content(&at));
            }),
            Op::List(at) => overlay.list(at).await.map(|names| {
                let Ok(Place::At(at)) = model.resolve(at, true) else { panic!("{at} leads nowhere") };
                let listed =
                    names.iter().map(|entry| at.join_bytes(&entry.name).unwrap()).collect::<BTreeSet<_>>();
                assert_eq!(listed, model.children(&at));
            }),
        }
    });
    let is_accepted = model.apply(op);
    assert_eq!(staged.is_ok(), is_accepted, "{op:?}: {staged:?}");
    if !is_accepted {
        assert_eq!(overlay.change_set().changes, before, "{op:?} failed, and is no change");
    }
}

/// The overlay as another process would open it.
fn reopened(base: Arc<dyn Tree>, overlay: &Overlay, bytes: &mut Bytes<'_>) -> Overlay {
    let changes = overlay.change_set();
    let back: ChangeSet = if bytes.below(2) == 0 {
        serde_json::from_str(&serde_json::to_string(&changes).unwrap()).unwrap()
    } else {
        let kept: Vec<_> = changes.contents().collect();
        let find = |hash| kept.iter().find(|(of, _)| *of == hash).map(|(_, content)| content.to_vec());
        changes.by_hash().with_contents(find).unwrap()
    };
    assert_eq!(back, changes);
    let again = Overlay::from_change_set(base, Quota::default(), &back).unwrap();
    assert_eq!(again.change_set(), changes);
    again
}

/// Edits the world until it is as the user's model says.
fn edit(world: &impl World, before: &Model, user: &Model) {
    for gone in before.0.keys().rev().filter(|at| !user.0.contains_key(*at)) {
        world.remove(gone);
    }
    for (at, node) in user.0.iter().filter(|(at, node)| before.0.get(*at) != Some(node)) {
        world.put(at, node);
    }
    assert_eq!(snapshot(world), user.0, "the test's own user");
}

/// Checks the outcome and the tree after it against the model.
fn judge(
    before: &Model,
    user: &Model,
    changes: &ChangeSet,
    options: CommitOptions,
    outcome: &CommitOutcome,
    after: &Model,
) {
    match outcome {
        CommitOutcome::Committed(committed) => {
            let (expected, merged) = expected(before, user, changes);
            assert_eq!(after.0, expected);
            assert_eq!(committed.merged.iter().cloned().collect::<BTreeSet<_>>(), merged);
            assert!(options.merge == Merge::Text || merged.is_empty());
            assert!(options.stale_reads == StaleReads::Warn || committed.stale_reads.is_empty());
            for stale in &committed.stale_reads {
                assert!(is_touched(before, user, &stale.path), "nobody touched {}", stale.path);
            }
        }
        CommitOutcome::Conflict(found) => {
            assert_eq!(after, user, "a conflict changes nothing");
            assert!(!found.is_empty());
            for conflict in found {
                let at = &conflict.path;
                assert!(is_touched(before, user, at), "nobody touched {at}: {conflict:?}");
                assert!(
                    options.stale_reads == StaleReads::Conflict || conflict.kind != ConflictKind::StaleRead
                );
                let change = changes.changes.iter().find(|change| change.path == *at);
                if let (Some(change), ConflictKind::Modified, Merge::Text) =
                    (change, conflict.kind, options.merge)
                {
                    assert!(merged(before, user, change).is_none(), "{at} could be merged");
                    let gone = moved_to(changes, at).and_then(|to| followed(before, user, to));
                    assert!(gone.is_none(), "{at} could be merged where it moved to");
                }
            }
        }
    }
}

fn is_touched(before: &Model, user: &Model, at: &WorkspacePath) -> bool {
    let is_another = |at: &WorkspacePath| before.at(at) != user.at(at);
    is_another(at) || parents(at).any(|above| is_another(&above)) || before.children(at) != user.children(at)
}

/// The merge of both sides for a file that a change writes.
fn merged(before: &Model, user: &Model, change: &Change) -> Option<Content> {
    let ChangeKind::Write { content, .. } = &change.kind else { return None };
    Content::merge(&before.content(&change.path)?, &Content::parse(content), &user.content(&change.path)?)
}

/// The change that takes over what another change removes from this path, if there is exactly one.
fn moved_to<'a>(changes: &'a ChangeSet, at: &WorkspacePath) -> Option<&'a Change> {
    let is_gone = |change: &Change| change.path == *at && change.kind == ChangeKind::Delete;
    let mut moved = changes.changes.iter().filter(|change| moved_from(change) == Some(at));
    let first = moved.next().filter(|_| changes.changes.iter().any(is_gone))?;
    moved.next().is_none().then_some(first)
}

fn moved_from(change: &Change) -> Option<&WorkspacePath> {
    match &change.kind {
        ChangeKind::Write { moved_from, .. } => moved_from.as_ref(),
        _ => None,
    }
}

/// The merge of both sides for a file that a change moved.
fn followed(before: &Model, user: &Model, change: &Change) -> Option<Content> {
    let (ChangeKind::Write { content, .. }, from) = (&change.kind, moved_from(change)?) else { return None };
    Content::merge(&before.content(from)?, &Content::parse(content), &user.content(from)?)
}

/// The changes, applied to the user's tree, and the paths that were merged. Panics if that would lose an edit.
fn expected(before: &Model, user: &Model, changes: &ChangeSet) -> (Nodes, BTreeSet<WorkspacePath>) {
    let mut result = user.0.clone();
    let mut merged_paths = BTreeSet::new();
    for change in &changes.changes {
        let at = &change.path;
        let (old, now) = (before.at(at), user.at(at));
        // Both sides made the same file.
        if let (
            None,
            Some(Node::File(user, bit)),
            ChangeKind::Write { content, executable, moved_from: None },
        ) = (&old, &now, &change.kind)
            && (user.as_slice(), bit) == (&content[..], executable)
        {
            continue;
        }
        let lost =
            || format!("the user's edit of {at} is lost: {old:?} became {now:?}, and now {:?}", change.kind);
        let is_link_above =
            |above: &WorkspacePath| matches!(user.at(above), Some(Node::File(..) | Node::Link(_)));
        for above in parents(at).filter(is_link_above) {
            assert!(changes.changes.iter().any(|change| change.path == above), "{}", lost());
        }
        let same_kind = old.as_ref().map(std::mem::discriminant) == now.as_ref().map(std::mem::discriminant);
        let is_made_twice = change.kind == ChangeKind::CreateDirectory && now == Some(Node::Folder);
        assert!(same_kind || (old.is_none() && is_made_twice), "{}", lost());
        if old == Some(Node::Folder) {
            assert!(user.children(at).is_subset(&before.children(at)), "{}", lost());
        }
        let is_other_content = before.content(at) != user.content(at);
        assert!(old == now || matches!(old, Some(Node::File(..))) || is_made_twice, "{}", lost());
        match &change.kind {
            ChangeKind::Delete => {
                let goes_along =
                    || moved_to(changes, at).is_some_and(|to| followed(before, user, to).is_some());
                assert!(!is_other_content || goes_along(), "{}", lost());
                result.remove(at);
            }
            ChangeKind::CreateDirectory => {
                assert!(!is_other_content, "{}", lost());
                result.insert(at.clone(), Node::Folder);
            }
            ChangeKind::Link { target, .. } => {
                assert!(!is_other_content, "{}", lost());
                result.insert(at.clone(), Node::Link(target.clone()));
            }
            ChangeKind::Write { content, executable, .. } => {
                let mut content = content.to_vec();
                if is_other_content {
                    content = merged(before, user, change).unwrap_or_else(|| panic!("{}", lost())).bytes();
                    merged_paths.insert(at.clone());
                }
                let from = moved_from(change).filter(|from| moved_to(changes, from) == Some(change));
                if let Some(from) = from.filter(|from| before.content(from) != user.content(from)) {
                    assert!(!is_other_content, "{}, and of {from}", lost());
                    content = followed(before, user, change).unwrap_or_else(|| panic!("{}", lost())).bytes();
                    merged_paths.insert(at.clone());
                }
                let (old, now) = match from {
                    Some(from) => (before.at(from), user.at(from)),
                    None => (old, now),
                };
                let executable = match (&old, &now) {
                    (Some(Node::File(_, was)), Some(Node::File(_, is))) if was == executable => *is,
                    _ => *executable,
                };
                result.insert(at.clone(), Node::File(content, executable));
            }
        }
    }
    (Model(result).full(), merged_paths)
}
