use std::collections::BTreeMap;

use headstart_overlay_fs::{Content, ContentHash, WorkspacePath};
use serde::{Deserialize, Serialize};

/// What is at a path of a copy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ManifestEntry {
    /// A file.
    File {
        /// The hash of its content.
        hash: ContentHash,
        /// Its length in bytes.
        len: u64,
        /// Whether its owner may execute it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        executable: bool,
    },
    /// A symbolic link.
    Link {
        /// Where it points, as it is written in the link.
        target: Content,
    },
    /// A folder.
    Folder,
}

/// A path of a copy, and what is there after the edit; `None` for nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TreeEdit {
    /// The path.
    pub path: WorkspacePath,
    /// What is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub now: Option<ManifestEntry>,
}

/// Everything in a copy of a workspace, including each folder above a path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Manifest(BTreeMap<WorkspacePath, ManifestEntry>);

impl Manifest {
    /// What is at a path.
    pub fn get(&self, path: &WorkspacePath) -> Option<&ManifestEntry> {
        self.0.get(path)
    }

    /// All paths, each behind the folder that contains it.
    pub fn iter(&self) -> impl Iterator<Item = (&WorkspacePath, &ManifestEntry)> {
        self.0.iter()
    }

    /// How many paths there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The bytes of all files together.
    pub fn bytes(&self) -> u64 {
        let len = |standing: &ManifestEntry| match standing {
            ManifestEntry::File { len, .. } => *len,
            _ => 0,
        };
        self.0.values().map(len).sum()
    }

    /// Puts something at a path.
    pub fn insert(&mut self, path: WorkspacePath, standing: ManifestEntry) {
        self.0.insert(path, standing);
    }

    /// Applies differences.
    pub fn apply(&mut self, edits: &[TreeEdit]) {
        for TreeEdit { path, now } in edits {
            match now {
                Some(standing) => drop(self.0.insert(path.clone(), standing.clone())),
                None => drop(self.0.remove(path)),
            }
        }
    }

    /// The edits that lead from `before` to this, removals first, with the content of a folder before the folder.
    pub fn edits_since(&self, before: &Self) -> Vec<TreeEdit> {
        let gone = before.0.keys().rev().filter(|path| !self.0.contains_key(*path));
        let gone = gone.map(|path| TreeEdit { path: path.clone(), now: None });
        let new = self.0.iter().filter(|(path, standing)| before.0.get(*path) != Some(*standing));
        let new = new.map(|(path, standing)| TreeEdit { path: path.clone(), now: Some(standing.clone()) });
        gone.chain(new).collect()
    }

    /// The state as one hash, equal for equal trees. It reveals damage and not manipulation.
    pub fn digest(&self) -> ContentHash {
        let mut bytes = Vec::with_capacity(self.0.len() * 80);
        let mut add = |field: &[u8]| {
            bytes.extend((field.len() as u64).to_le_bytes());
            bytes.extend_from_slice(field);
        };
        for (path, standing) in &self.0 {
            add(path.as_bytes());
            match standing {
                ManifestEntry::File { hash, len, executable } => {
                    add(if *executable { b"x" } else { b"f" });
                    add(hash.to_string().as_bytes());
                    add(&len.to_le_bytes());
                }
                ManifestEntry::Link { target } => {
                    add(b"l");
                    add(target);
                }
                ManifestEntry::Folder => add(b"d"),
            }
        }
        ContentHash::of(&bytes)
    }

    /// Checks that every path is possible: none is the root or git's own, and each is in folders of the manifest. The
    /// error names the one that is not.
    pub fn check(&self) -> Result<(), String> {
        for (path, standing) in &self.0 {
            if path.is_root() {
                return Err("the root itself is no path in it".to_owned());
            }
            if path.names().any(|name| name.eq_ignore_ascii_case(b".git")) {
                return Err(format!("{path} is git's own"));
            }
            if let ManifestEntry::Link { target } = standing
                && (target.is_empty() || target.contains(&0))
            {
                return Err(format!("{path} is a link to nowhere"));
            }
            let above = path.parent().filter(|above| !above.is_root());
            if above.is_some_and(|above| self.0.get(&above) != Some(&ManifestEntry::Folder)) {
                return Err(format!("{path} is in no folder"));
            }
        }
        Ok(())
    }
}
