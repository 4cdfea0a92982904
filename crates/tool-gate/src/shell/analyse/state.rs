use std::collections::{BTreeMap, BTreeSet};

use headstart_workspace_path::WorkspacePath;

use crate::shell::value::Value;

/// A folder that may be the current one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Folder {
    Inside(WorkspacePath),
    /// Outside the workspace, or not known.
    Outside,
}

/// What is known at one place of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct State {
    /// The variables that the script assigned.
    pub(crate) variables: BTreeMap<String, Value>,
    /// The variables that may be arrays. Their value stands for each of the elements.
    arrays: BTreeSet<String>,
    /// Variables that the script may have assigned, and that may have their value of the environment all the same.
    kept: BTreeSet<String>,
    /// The variables of loops over names, with the patterns of those names and the folders in which they were looked up.
    patterns: BTreeMap<String, (Vec<String>, Vec<Folder>)>,
    /// The folders in which the shell may be.
    pub(crate) folders: Vec<Folder>,
}

/// With more folders than this, the current one counts as unknown.
const MAX_FOLDERS: usize = 4;

impl State {
    pub(crate) fn new(directory: WorkspacePath) -> Self {
        Self {
            variables: BTreeMap::new(),
            arrays: BTreeSet::new(),
            kept: BTreeSet::new(),
            patterns: BTreeMap::new(),
            folders: vec![Folder::Inside(directory)],
        }
    }

    /// Gives a variable a value, or an array a new first element.
    pub(crate) fn set(&mut self, name: &str, value: Value) {
        let value = match self.variables.get(name) {
            // The other elements stay.
            Some(old) if self.arrays.contains(name) => value.join(old),
            _ => value,
        };
        self.variables.insert(name.to_owned(), value);
        self.kept.remove(name);
        self.patterns.remove(name);
    }

    /// Notes that a variable is one of the names that these patterns match.
    pub(crate) fn set_patterns(&mut self, name: &str, patterns: Vec<String>) {
        self.patterns.insert(name.to_owned(), (patterns, self.folders.clone()));
    }

    /// The patterns of which a variable is a name, from the current folder.
    pub(crate) fn patterns(&self, name: &str) -> Option<&[String]> {
        let (patterns, folders) = self.patterns.get(name)?;
        (*folders == self.folders && self.is_assigned(name)).then_some(patterns)
    }

    /// Whether the script has certainly assigned the variable.
    pub(crate) fn is_assigned(&self, name: &str) -> bool {
        self.variables.contains_key(name) && !self.kept.contains(name)
    }

    /// Notes that an assignment of the variable may not have taken place.
    pub(crate) fn may_be_kept(&mut self, name: &str) {
        self.kept.insert(name.to_owned());
    }

    /// Gives an array new elements.
    pub(crate) fn set_array(&mut self, name: &str, elements: Value) {
        self.arrays.insert(name.to_owned());
        self.patterns.remove(name);
        self.variables.insert(name.to_owned(), elements);
    }

    /// The state in which either `self` or `other` holds.
    pub(crate) fn join(&mut self, other: Self) {
        let of_one =
            |name: &&String| self.variables.contains_key(*name) != other.variables.contains_key(*name);
        let of_one: Vec<String> =
            self.variables.keys().chain(other.variables.keys()).filter(of_one).cloned().collect();
        self.kept.extend(of_one);
        self.kept.extend(other.kept);
        self.patterns.retain(|name, patterns| other.patterns.get(name) == Some(patterns));
        for (name, value) in &mut self.variables {
            // Where the other side did not assign it, it is not set, because the executor's environment does not have
            // it.
            *value = value.join(other.variables.get(name).unwrap_or(&Value::Exact(Vec::new())));
        }
        for (name, value) in other.variables {
            self.variables.entry(name).or_insert_with(|| value.join(&Value::empty()));
        }
        self.arrays.extend(other.arrays);
        self.add_folders(other.folders);
    }

    /// The state in which the variable is known to hold digits.
    pub(crate) fn narrow(&mut self, name: Option<&str>) {
        let Some(name) = name.filter(|name| !self.arrays.contains(*name)) else { return };
        if !matches!(self.variables.get(name), Some(Value::Exact(_))) {
            self.variables.insert(name.to_owned(), Value::NUMBER);
        }
    }

    pub(crate) fn add_folders(&mut self, folders: Vec<Folder>) {
        for folder in folders {
            if !self.folders.contains(&folder) {
                self.folders.push(folder);
            }
        }
        if MAX_FOLDERS < self.folders.len() {
            self.folders = vec![Folder::Outside];
        }
    }

    /// Forgets the variables that still change after several rounds of a loop: they may hold anything.
    pub(crate) fn forget_changes(&mut self, before: &Self) {
        for (name, value) in &mut self.variables {
            if before.variables.get(name) != Some(value) {
                *value = Value::ANY;
            }
        }
        if self.folders != before.folders {
            self.folders = vec![Folder::Outside];
        }
    }
}
