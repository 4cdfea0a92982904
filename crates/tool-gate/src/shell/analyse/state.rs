use std::collections::{BTreeMap, BTreeSet};

use headstart_workspace_path::WorkspacePath;

use crate::shell::script::{Arithmetic, ArithmeticToken, CommandKind, Operator, Piece, Script, Word};
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

/// The names that a script assigns, and possibly some more.
pub(crate) fn assigned_names(script: &Script) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    each_command(script, &mut |kind| match kind {
        CommandKind::Simple { assignments, words } => {
            if words.is_empty() {
                names.extend(assignments.iter().map(|assignment| assignment.name.clone()));
            }
            let assigning = ["read", "unset", "mapfile", "readarray", "export"];
            if words.first().and_then(Word::bare).is_some_and(|name| assigning.contains(&name)) {
                names.extend(words.iter().skip(1).filter_map(Word::bare).map(str::to_owned));
            }
        }
        CommandKind::For { name, .. } => {
            names.insert(name.clone());
        }
        CommandKind::Arithmetic(arithmetic) => {
            for pair in arithmetic.tokens.windows(2) {
                if let [ArithmeticToken::Name(name), ArithmeticToken::Assign]
                | [ArithmeticToken::Assign, ArithmeticToken::Name(name)] = pair
                {
                    names.insert(name.clone());
                }
            }
        }
        _ => {}
    });
    names
}

/// The names whose values a script uses.
pub(crate) fn seen_names(script: &Script) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    each_command(script, &mut |kind| match kind {
        CommandKind::Simple { words, .. } | CommandKind::Test(words) => {
            for piece in words.iter().flat_map(|word| &word.pieces) {
                if let Piece::Arithmetic(arithmetic) = piece {
                    names.extend(names_in(arithmetic));
                }
                if let Piece::Parameter(parameter) = piece {
                    names.insert(parameter.name.clone());
                    if let Operator::Default(word) = &parameter.operator {
                        names.extend(word.bare().map(str::to_owned));
                    }
                }
            }
        }
        CommandKind::Arithmetic(arithmetic) => {
            names.extend(names_in(arithmetic));
        }
        _ => {}
    });
    names
}

fn names_in(arithmetic: &Arithmetic) -> impl Iterator<Item = String> {
    arithmetic.tokens.iter().filter_map(|token| match token {
        ArithmeticToken::Name(name) => Some(name.clone()),
        ArithmeticToken::Value(Piece::Parameter(parameter)) => Some(parameter.name.clone()),
        _ => None,
    })
}

fn each_command(script: &Script, look: &mut impl FnMut(&CommandKind)) {
    for item in &script.items {
        let pipelines = std::iter::once(&item.first).chain(item.rest.iter().map(|(_, pipeline)| pipeline));
        for command in pipelines.flat_map(|pipeline| &pipeline.stages) {
            look(&command.kind);
            match &command.kind {
                CommandKind::Group(script) => each_command(script, look),
                CommandKind::If { branches, otherwise } => {
                    for (condition, body) in branches {
                        each_command(condition, look);
                        each_command(body, look);
                    }
                    if let Some(otherwise) = otherwise {
                        each_command(otherwise, look);
                    }
                }
                CommandKind::While { condition, body } => {
                    each_command(condition, look);
                    each_command(body, look);
                }
                CommandKind::For { body, .. } | CommandKind::Counted { body, .. } => each_command(body, look),
                CommandKind::Case { arms, .. } => arms.iter().for_each(|(_, body)| each_command(body, look)),
                _ => {}
            }
        }
    }
}
