//! Which disks may be left if the power is cut after a recorded system call, on a file system that keeps a journal of
//! its own.
//!
//! What was synced is on the disk: the content, bits and time of a file, and the names in a folder. Each other call was
//! kept or not, but it can only be kept if the calls that it depends on were kept: a call about a name depends on the
//! earlier calls about that name. A rename or an exchange is kept whole or not at all. Content that was not synced is
//! missing, or consists of zeros.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use headstart_overlay_fs::failpoints::{RecordedCall, Slot};

use super::disk::{Disk, Id, Inodes, Thing, is_journal};

/// A random number generator with the same numbers on every machine: xorshift.
#[derive(Debug, Clone)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % limit
    }
}

type Name = (Id, Vec<u8>);

#[derive(Debug, Clone)]
enum What {
    Make(Name, Id, Thing),
    Remove(Name),
    Move(Name, Name),
    Exchange(Name, Name),
    Link(Name, Name),
    Append { file: Id, at: usize, content: Vec<u8>, modified: (i64, i64), inodes: Inodes },
    SetMode(Id, u32),
    SetModified(Id, (i64, i64)),
    Sync(Id),
    SyncFolder(Id),
    SyncAll,
}

#[derive(Debug)]
struct Call {
    what: What,
    /// The earlier calls that must have been kept for this one to be kept.
    needs: Vec<usize>,
}

/// Whether a call was kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kept {
    Yes,
    No,
    /// The file has its length, but its content is zeros.
    AsZeros,
}

/// A disk, and the calls that were made on it.
#[derive(Debug)]
pub(crate) struct Trace {
    base: Disk,
    calls: Vec<Call>,
}

impl Trace {
    pub(crate) fn new(base: &(Disk, HashMap<u64, Id>), done: &[RecordedCall]) -> Self {
        let mut reader = Reader {
            now: base.0.clone(),
            numbers: base.1.clone(),
            last: HashMap::new(),
            named_by: HashMap::new(),
            calls: Vec::new(),
        };
        for one in done {
            reader.add(one);
        }
        Self { base: base.0.clone(), calls: reader.calls }
    }

    pub(crate) fn len(&self) -> usize {
        self.calls.len()
    }

    /// The numbers of the calls that sync something.
    pub(crate) fn syncs(&self) -> Vec<usize> {
        let is_sync = |call: &Call| matches!(call.what, What::Sync(_) | What::SyncFolder(_) | What::SyncAll);
        (0..self.calls.len()).filter(|number| is_sync(&self.calls[*number])).collect()
    }

    pub(crate) fn told(&self, number: usize) -> String {
        match &self.calls[number].what {
            What::Append { file, .. } => format!("call {number}: Append({file})"),
            What::Make(name, ..) => format!("call {number}: Make({name:?})"),
            what => format!("call {number}: {what:?}"),
        }
    }

    /// The disks that may be left if the power is cut before call `end` and the sync `without` is treated as not made.
    /// Of the calls that were not synced, all are kept, none, all but one, only one, or a random selection. At most
    /// `most` such selections are tried.
    pub(crate) fn disks(
        &self,
        end: usize,
        without: Option<usize>,
        most: usize,
        random: &mut Random,
    ) -> Vec<Disk> {
        let durable = self.durable(end, without);
        let names: Vec<usize> = (0..end).filter(|one| !durable[*one] && self.is_of_names(*one)).collect();
        let others: Vec<usize> = (0..end).filter(|one| !durable[*one] && self.is_of_content(*one)).collect();
        let mut subsets = vec![vec![false; end], vec![true; end]];
        for one in &names {
            let mut dropped = vec![true; end];
            dropped[*one] = false;
            subsets.push(dropped);
            let mut kept = vec![false; end];
            kept[*one] = true;
            subsets.push(self.with_needs(kept));
        }
        for _ in 0..names.len().min(6) {
            subsets.push((0..end).map(|_| random.below(2) == 0).collect());
        }
        while most < subsets.len() {
            subsets.swap_remove(2 + random.below(subsets.len() - 2));
        }
        let mut disks = Vec::new();
        for subset in subsets {
            let mut kept: Vec<_> =
                (0..end).map(|one| if durable[one] || subset[one] { Kept::Yes } else { Kept::No }).collect();
            for ways in 0..3 {
                for one in &others {
                    kept[*one] = match (ways, random.below(3)) {
                        (0, _) | (2, 0) => Kept::Yes,
                        (1, _) | (2, 1) => Kept::No,
                        _ => Kept::AsZeros,
                    };
                }
                disks.push(self.apply(&kept));
                if others.is_empty() {
                    break;
                }
            }
        }
        disks
    }

    fn is_of_names(&self, number: usize) -> bool {
        use What::{Exchange, Link, Make, Move, Remove};
        matches!(self.calls[number].what, Make(..) | Remove(_) | Move(..) | Exchange(..) | Link(..))
    }

    fn is_of_content(&self, number: usize) -> bool {
        matches!(self.calls[number].what, What::Append { .. } | What::SetMode(..) | What::SetModified(..))
    }

    fn with_needs(&self, mut kept: Vec<bool>) -> Vec<bool> {
        for number in (0..kept.len()).rev().filter(|number| self.is_of_names(*number)) {
            if kept[number] {
                self.calls[number].needs.iter().for_each(|needed| kept[*needed] = true);
            }
        }
        kept
    }

    /// Which calls are on the medium for certain.
    fn durable(&self, end: usize, without: Option<usize>) -> Vec<bool> {
        let mut durable = vec![false; end];
        for sync in (0..end).filter(|one| Some(*one) != without) {
            let of = match &self.calls[sync].what {
                What::Sync(of) | What::SyncFolder(of) => Some(*of),
                What::SyncAll => None,
                _ => continue,
            };
            for (earlier, call) in durable.iter_mut().zip(&self.calls).take(sync) {
                *earlier |= of.is_none_or(|of| call.what.is_synced_with(of));
            }
            durable = self.with_needs(durable);
        }
        durable
    }

    fn apply(&self, kept: &[Kept]) -> Disk {
        let mut disk = self.base.clone();
        let mut is_made = vec![false; kept.len()];
        for (number, (call, kept)) in self.calls.iter().zip(kept).enumerate() {
            // A thing has the same number in every disk, whether it was kept or not.
            if let What::Make(_, id, thing) = &call.what {
                assert_eq!(*id, disk.things.len());
                disk.things.push(thing.clone());
            }
            if *kept == Kept::No || call.needs.iter().any(|needed| !is_made[*needed]) {
                continue;
            }
            is_made[number] = true;
            call.what.apply(&mut disk, *kept);
        }
        disk
    }
}

impl What {
    /// Whether a sync of this file or folder puts the call on the medium.
    fn is_synced_with(&self, of: Id) -> bool {
        match self {
            Self::Make((folder, _), ..) | Self::Remove((folder, _)) => *folder == of,
            Self::Move((from, _), (to, _))
            | Self::Exchange((from, _), (to, _))
            | Self::Link((from, _), (to, _)) => *from == of || *to == of,
            Self::Append { file, .. } | Self::SetMode(file, _) | Self::SetModified(file, _) => *file == of,
            Self::Sync(_) | Self::SyncFolder(_) | Self::SyncAll => false,
        }
    }

    fn apply(&self, disk: &mut Disk, kept: Kept) {
        match self {
            Self::Make((folder, name), id, _) => drop(disk.names_mut(*folder).insert(name.clone(), *id)),
            Self::Remove((folder, name)) => drop(disk.names_mut(*folder).remove(name).unwrap()),
            Self::Move(from, to) => {
                let moved = disk.names_mut(from.0).remove(&from.1).unwrap();
                disk.names_mut(to.0).insert(to.1.clone(), moved);
            }
            Self::Exchange(one, other) => {
                let (was_one, was_other) = (disk.names(one.0)[&one.1], disk.names(other.0)[&other.1]);
                disk.names_mut(one.0).insert(one.1.clone(), was_other);
                disk.names_mut(other.0).insert(other.1.clone(), was_one);
            }
            Self::Link(from, to) => {
                let linked = disk.names(from.0)[&from.1];
                disk.names_mut(to.0).insert(to.1.clone(), linked);
            }
            Self::Append { file, at, content: new, modified: when, inodes } => {
                let Thing::File { content, modified, .. } = &mut disk.things[*file] else { return };
                if content.len() < at + new.len() {
                    content.resize(at + new.len(), 0);
                }
                if kept == Kept::Yes {
                    content[*at..at + new.len()].copy_from_slice(new);
                }
                *modified = *when;
                if is_journal(&disk.things[*file]) {
                    disk.inodes.insert(*file, inodes.clone());
                }
            }
            Self::SetMode(of, new) => match &mut disk.things[*of] {
                Thing::File { mode, .. } | Thing::Folder { mode, .. } => *mode = *new,
                Thing::Link(_) => {}
            },
            Self::SetModified(of, when) => {
                if let Thing::File { modified, .. } = &mut disk.things[*of] {
                    *modified = *when;
                }
            }
            Self::Sync(_) | Self::SyncFolder(_) | Self::SyncAll => {}
        }
    }
}

/// Reads the recorded calls, and finds out which ones each call depends on.
struct Reader {
    /// The disk after all calls that were read so far.
    now: Disk,
    numbers: HashMap<u64, Id>,
    /// The last call about each name.
    last: HashMap<Name, usize>,
    /// The last call that gave each thing a name.
    named_by: HashMap<Id, usize>,
    calls: Vec<Call>,
}

impl Reader {
    fn name(&self, slot: &Slot) -> Name {
        (self.id(slot.folder), slot.name.clone())
    }

    fn id(&self, inode: u64) -> Id {
        *self
            .numbers
            .get(&inode)
            .expect("works because every inode was there before, or its making was recorded")
    }

    fn make(&mut self, at: &Slot, inode: u64, thing: Thing) -> What {
        let name = self.name(at);
        let id = self.now.things.len();
        self.now.things.push(thing.clone());
        self.numbers.insert(inode, id);
        What::Make(name, id, thing)
    }

    fn add(&mut self, done: &RecordedCall) {
        let what = match done {
            RecordedCall::MakeFile { at, inode, mode } => {
                let file = Thing::File { content: Vec::new(), mode: *mode, modified: (1, 0) };
                self.make(at, *inode, file)
            }
            RecordedCall::MakeFolder { at, inode, mode } => {
                self.make(at, *inode, Thing::Folder { names: BTreeMap::new(), mode: *mode })
            }
            RecordedCall::MakeLink { at, inode, target } => {
                self.make(at, *inode, Thing::Link(target.clone()))
            }
            RecordedCall::RemoveFile { at } | RecordedCall::RemoveFolder { at } => {
                What::Remove(self.name(at))
            }
            RecordedCall::Move { from, to } => What::Move(self.name(from), self.name(to)),
            RecordedCall::Exchange { one, other } => What::Exchange(self.name(one), self.name(other)),
            RecordedCall::Link { from, to } => What::Link(self.name(from), self.name(to)),
            RecordedCall::Append { inode, content, modified } => {
                let file = self.id(*inode);
                let Thing::File { content: before, .. } = &self.now.things[file] else { panic!("no file") };
                let (at, inodes) = (before.len(), Rc::new(self.numbers.clone()));
                What::Append { file, at, content: content.clone(), modified: *modified, inodes }
            }
            RecordedCall::SetMode { inode, mode } => What::SetMode(self.id(*inode), *mode),
            RecordedCall::SetModified { inode, modified } => What::SetModified(self.id(*inode), *modified),
            RecordedCall::Sync { inode } => What::Sync(self.id(*inode)),
            RecordedCall::SyncFolder { inode } => What::SyncFolder(self.id(*inode)),
            RecordedCall::SyncFileSystem => What::SyncAll,
            other => panic!("the model does not know {other:?}"),
        };
        let needs = self.needs(&what);
        let number = self.calls.len();
        for name in names_of(&what) {
            if let Some(id) = self.now.names(name.0).get(&name.1) {
                self.named_by.insert(*id, number);
            }
            self.last.insert(name.clone(), number);
        }
        if let What::Make(_, id, _) = &what {
            self.named_by.insert(*id, number);
        }
        what.apply(&mut self.now, Kept::Yes);
        self.calls.push(Call { what, needs });
    }

    fn needs(&self, what: &What) -> Vec<usize> {
        let mut needs = Vec::new();
        for name in names_of(what) {
            needs.extend(self.last.get(name));
            let Some(id) = self.now.names(name.0).get(&name.1) else { continue };
            needs.extend(self.named_by.get(id));
            if let (What::Remove(_), Thing::Folder { .. }) = (what, &self.now.things[*id]) {
                // The folder was empty by then, so the calls that emptied it are needed.
                needs.extend(self.last.iter().filter(|((folder, _), _)| folder == id).map(|(_, by)| by));
            }
        }
        needs
    }
}

fn names_of(what: &What) -> Vec<&Name> {
    match what {
        What::Make(at, ..) | What::Remove(at) => vec![at],
        What::Move(one, other) | What::Exchange(one, other) | What::Link(one, other) => vec![one, other],
        _ => Vec::new(),
    }
}
