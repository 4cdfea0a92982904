//! A tree as a plain map, and what every operation does to it. It was written without a look at how the overlay does
//! it, so that the two can check each other.

use std::collections::{BTreeMap, BTreeSet};

use headstart_overlay_fs::WorkspacePath;

use crate::world::{Node, Nodes, file};

/// The content of a file: a text with numbered places that two sides can edit, or bytes that are no text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Content {
    Empty,
    Binary(u8),
    Places([u8; PLACES]),
}

pub(crate) const PLACES: usize = 4;

impl Content {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Empty => Vec::new(),
            Self::Binary(value) => vec![0, *value],
            Self::Places(values) => {
                let line = |(at, value)| format!("place {at} has {value}\nbelow {at}\n");
                values.iter().enumerate().map(line).collect::<Vec<_>>().concat().into_bytes()
            }
        }
    }

    pub(crate) fn parse(bytes: &[u8]) -> Self {
        match bytes {
            [] => Self::Empty,
            [0, value] => Self::Binary(*value),
            text => {
                let text = std::str::from_utf8(text).expect("works because the test writes texts");
                let values = text.lines().step_by(2).map(|line| {
                    let value = line.rsplit(' ').next().and_then(|value| value.parse().ok());
                    value.expect("works because the test writes numbers")
                });
                let values: Vec<u8> = values.collect();
                Self::Places(values.try_into().expect("works because no place is ever removed"))
            }
        }
    }

    /// The merge of both sides. `None` if their edits meet.
    pub(crate) fn merge(base: &Self, ours: &Self, theirs: &Self) -> Option<Self> {
        match (base, ours, theirs) {
            _ if ours == theirs || ours == base => Some(theirs.clone()),
            _ if theirs == base => Some(ours.clone()),
            (Self::Places(base), Self::Places(ours), Self::Places(theirs)) => {
                let mut both = *base;
                for (at, place) in both.iter_mut().enumerate() {
                    *place = match (ours[at], theirs[at]) {
                        (ours, theirs) if ours == *place || ours == theirs => theirs,
                        (ours, theirs) if theirs == *place => ours,
                        _ => return None,
                    };
                }
                Some(Self::Places(both))
            }
            _ => None,
        }
    }
}

/// An operation of the agent or of the user.
#[derive(Debug, Clone)]
pub(crate) enum Op {
    Write(WorkspacePath, Content),
    Edit(WorkspacePath, usize, u8),
    Remove(WorkspacePath),
    Rename(WorkspacePath, WorkspacePath),
    CreateDir(WorkspacePath),
    Symlink(WorkspacePath, &'static str),
    SetExecutable(WorkspacePath, bool),
    Read(WorkspacePath),
    List(WorkspacePath),
}

/// A map in which a folder that was not made by itself exists as long as something is in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Model(pub(crate) Nodes);

/// Where a path leads.
pub(crate) enum Place {
    At(WorkspacePath),
    Absent(WorkspacePath),
}

/// Why a path leads nowhere.
#[derive(Debug, PartialEq)]
pub(crate) enum Refused {
    Escapes,
    Other,
}

pub(crate) fn parents(path: &WorkspacePath) -> impl Iterator<Item = WorkspacePath> {
    std::iter::successors(path.parent(), WorkspacePath::parent).filter(|folder| !folder.is_root())
}

impl Model {
    pub(crate) fn at(&self, path: &WorkspacePath) -> Option<Node> {
        let is_above = || self.0.keys().any(|other| other != path && other.starts_with(path));
        self.0.get(path).cloned().or_else(|| (path.is_root() || is_above()).then_some(Node::Folder))
    }

    pub(crate) fn content(&self, path: &WorkspacePath) -> Option<Content> {
        match self.at(path) {
            Some(Node::File(bytes, _)) => Some(Content::parse(&bytes)),
            _ => None,
        }
    }

    /// All nodes, including every folder above them.
    pub(crate) fn full(&self) -> Nodes {
        let mut full = self.0.clone();
        for path in self.0.keys() {
            full.extend(parents(path).map(|parent| (parent, Node::Folder)));
        }
        full
    }

    /// Makes implied folders explicit. A change set does not say that a folder which takes the place of something in
    /// the base only exists because something is in it. An overlay that is opened from the change set treats it as made
    /// by itself.
    pub(crate) fn forget_what_was_implied(&mut self, base: &Self) {
        let full = self.full();
        self.0.extend(full.into_iter().filter(|(at, _)| base.at(at).is_some()));
    }

    pub(crate) fn children(&self, folder: &WorkspacePath) -> BTreeSet<WorkspacePath> {
        self.full().into_keys().filter(|path| path.parent().as_ref() == Some(folder)).collect()
    }

    pub(crate) fn resolve(&self, path: &WorkspacePath, follow: bool) -> Result<Place, Refused> {
        let mut rest: Vec<Vec<u8>> = path.names().rev().map(<[u8]>::to_vec).collect();
        let mut at = WorkspacePath::root();
        let mut links = 0;
        while let Some(name) = rest.pop() {
            if name == b".." {
                at = at.parent().ok_or(Refused::Escapes)?;
                continue;
            }
            let mut next = at.join_bytes(&name).map_err(|_| Refused::Other)?;
            match self.at(&next) {
                Some(Node::Folder) => at = next,
                Some(Node::Link(target)) if follow || !rest.is_empty() => {
                    links += 1;
                    if links > 40 || target.starts_with(b"/") {
                        return Err(Refused::Escapes);
                    }
                    let names = target.split(|byte| *byte == b'/').filter(|name| *name != b".");
                    rest.extend(names.rev().map(<[u8]>::to_vec));
                }
                Some(_) if rest.is_empty() => return Ok(Place::At(next)),
                Some(_) => return Err(Refused::Other),
                None => {
                    for name in rest.iter().rev() {
                        if name == b".." {
                            return Err(Refused::Other);
                        }
                        next = next.join_bytes(name).map_err(|_| Refused::Other)?;
                    }
                    return Ok(Place::Absent(next));
                }
            }
        }
        Ok(Place::At(at))
    }

    /// Applies an operation as the overlay promises to. Returns `false` if it is refused.
    pub(crate) fn apply(&mut self, op: &Op) -> bool {
        self.try_apply(op).is_ok()
    }

    fn try_apply(&mut self, op: &Op) -> Result<(), Refused> {
        match op {
            Op::Write(path, content) => match self.resolve(path, true)? {
                Place::Absent(path) => self.put(path, file(content.bytes())),
                Place::At(path) => match self.at(&path) {
                    Some(Node::File(_, executable)) => {
                        self.put(path, Node::File(content.bytes(), executable));
                    }
                    _ => return Err(Refused::Other),
                },
            },
            Op::Edit(path, place, value) => {
                let (path, content) = self.file(path)?;
                let Content::Places(mut places) = content else { return Err(Refused::Other) };
                places[*place] = *value;
                return self.try_apply(&Op::Write(path, Content::Places(places)));
            }
            Op::SetExecutable(path, executable) => {
                let (path, content) = self.file(path)?;
                self.put(path, Node::File(content.bytes(), *executable));
            }
            Op::Read(path) => drop(self.file(path)?),
            Op::List(path) => match self.resolve(path, true)? {
                Place::At(path) if self.at(&path) == Some(Node::Folder) => {}
                _ => return Err(Refused::Other),
            },
            Op::CreateDir(path) => match self.resolve(path, false)? {
                Place::Absent(path) => self.put(path, Node::Folder),
                Place::At(_) => return Err(Refused::Other),
            },
            Op::Symlink(path, target) => {
                let Place::Absent(path) = self.resolve(path, false)? else { return Err(Refused::Other) };
                let leads_to = link_target(&path, target.as_bytes()).ok_or(Refused::Escapes)?;
                if self.resolve(&leads_to, true).err() == Some(Refused::Escapes) {
                    return Err(Refused::Escapes);
                }
                self.put(path, Node::Link(target.as_bytes().to_vec()));
            }
            Op::Remove(path) => match self.resolve(path, false)? {
                Place::At(path) if !path.is_root() => self.0.retain(|other, _| !other.starts_with(&path)),
                _ => return Err(Refused::Other),
            },
            Op::Rename(from, to) => return self.rename(from, to),
        }
        Ok(())
    }

    fn rename(&mut self, from: &WorkspacePath, to: &WorkspacePath) -> Result<(), Refused> {
        let Place::At(from) = self.resolve(from, false)? else { return Err(Refused::Other) };
        let Place::Absent(to) = self.resolve(to, false)? else { return Err(Refused::Other) };
        if from.is_root() || to.starts_with(&from) {
            return Err(Refused::Other);
        }
        let mut moved = BTreeMap::new();
        for (path, node) in self.0.iter().filter(|(path, _)| path.starts_with(&from)) {
            let rest = path.strip_prefix(&from).filter(|rest| !rest.is_root());
            let target = rest.map_or(Ok(to.clone()), |rest| to.join_bytes(rest.as_bytes()));
            let target = target.map_err(|_| Refused::Other)?;
            if let Node::Link(link) = node {
                link_target(&target, link).ok_or(Refused::Escapes)?;
            }
            moved.insert(target, node.clone());
        }
        self.0.retain(|path, _| !path.starts_with(&from));
        self.0.extend(moved);
        Ok(())
    }

    fn file(&self, path: &WorkspacePath) -> Result<(WorkspacePath, Content), Refused> {
        let Place::At(path) = self.resolve(path, true)? else { return Err(Refused::Other) };
        let content = self.content(&path).ok_or(Refused::Other)?;
        Ok((path, content))
    }

    fn put(&mut self, path: WorkspacePath, node: Node) {
        self.0.insert(path, node);
    }
}

fn link_target(path: &WorkspacePath, target: &[u8]) -> Option<WorkspacePath> {
    let steps: Vec<_> = target.split(|byte| *byte == b'/').collect();
    let last_up = steps.iter().rposition(|step| step == b"..").map_or(0, |at| at + 1);
    if steps[..last_up].iter().any(|step| step != b"..") {
        return None;
    }
    path.parent()?.join_bytes(target).ok()
}
