//! The hardened form of a command: what is inserted into its text, and which variables its programs need.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use headstart_workspace_path::WorkspacePath;

use super::{Folder, Judge, LineEnds};
use crate::shell::printed::{self, LINES, Names, Printed, WORDS};
use crate::shell::script::Span;
use crate::shell::value::{Arg, Shape, Value};
use crate::{GitNeeds, Hardened};

/// The most insertions that a value may depend on; a [`Shape`] has a bit for each.
const MAX_FIXES: usize = 32;

/// The first version of git that knows all variables of the hardened form. `GIT_NO_LAZY_FETCH`, which keeps it from
/// starting a program to fetch missing objects, is the newest of them. What older ones need instead is checked by
/// [`ConditionalCommand`](crate::ConditionalCommand).
const GIT_VERSION: (u32, u32) = (2, 45);

#[derive(Default)]
pub(super) struct Hardening {
    environment: Arc<BTreeMap<String, String>>,
    /// Folders in which git is started.
    git_folders: BTreeSet<WorkspacePath>,
    /// Texts to insert, by offset.
    edits: BTreeMap<usize, String>,
    /// For an insertion that replaces text, how many bytes it replaces, by offset.
    replaced: BTreeMap<usize, usize>,
    /// The offsets at which something was inserted since the body of an unrolled loop began.
    pub(super) touched: BTreeSet<usize>,
    /// Filters to insert, by offset.
    filters: BTreeMap<usize, Filter>,
    /// Files that must be missing or empty.
    absent: BTreeSet<WorkspacePath>,
    /// Insertions that a value may depend on, by number. They are made once something relies on the value.
    fixes: Vec<Fix>,
}

/// A filter behind a listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Filter {
    options: &'static str,
    script: &'static str,
    rooted: bool,
}

/// An insertion that is made once something relies on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fix {
    /// A filter behind the listing that ends at this offset.
    Filter { at: usize, nul: bool, rooted: bool },
    /// `IFS=` before the `read` at this offset, which would otherwise remove blanks from a line.
    WholeLines { at: usize },
    /// `-r` behind the `read` that ends at this offset, which would otherwise take backslashes out of a line.
    RawLines { at: usize },
}

impl Hardening {
    /// Whether the hardened form has another text.
    pub(super) fn changes_text(&self) -> bool {
        !(self.edits.is_empty() && self.filters.is_empty())
    }

    /// The form in which `text` must run, if that is not the plain one.
    pub(super) fn finish(mut self, text: &str, workspace: &str, shows_settings: bool) -> Option<Hardened> {
        if !self.changes_text() && self.environment.is_empty() && self.absent.is_empty() {
            return None;
        }
        for (place, Filter { options, script, rooted }) in self.filters {
            let of_root = rooted.then(|| printed::rooted(script, workspace)).flatten();
            let script = of_root.as_deref().unwrap_or(script);
            let filter = format!(" | LC_ALL=C sed {options} '{script}'");
            self.edits.entry(place).or_default().push_str(&filter);
        }
        let mut command = String::with_capacity(text.len() + 64);
        let mut at = 0;
        for (place, insertion) in &self.edits {
            command.push_str(text.get(at..*place).unwrap_or_default());
            command.push_str(insertion);
            at = *place + self.replaced.get(place).unwrap_or(&0);
        }
        command.push_str(text.get(at..).unwrap_or_default());
        let command = (!self.edits.is_empty()).then_some(command);
        let git = (!self.git_folders.is_empty()).then(|| GitNeeds {
            version: GIT_VERSION,
            folders: self.git_folders.iter().map(ToString::to_string).collect(),
            hides: vec!["info/attributes".to_owned()],
            shows_settings,
        });
        let absent = self.absent.iter().map(ToString::to_string).collect();
        Some(Hardened { environment: self.environment, command, git, absent })
    }

    fn number(&mut self, fix: Fix) -> Option<u32> {
        let known = self.fixes.iter().position(|known| *known == fix);
        let place = known.unwrap_or(self.fixes.len());
        if place == self.fixes.len() {
            self.fixes.push(fix);
        }
        (place < MAX_FIXES).then(|| 1 << place)
    }
}

impl Judge<'_> {
    /// Inserts `text` behind the word at `span` in the hardened form.
    pub(crate) fn insert_behind(&mut self, span: Span, text: &str) {
        let word = self.text.get(span.0..span.1).unwrap_or_default();
        if word.is_empty() || word.contains(['{', '$', '`']) {
            return self.unknown("an option has to be inserted where one word becomes several", span);
        }
        self.insert(span.1, text.to_owned());
    }

    /// Inserts `--` before the argument at `span` in the hardened form, so that it cannot be an option.
    pub(crate) fn end_options(&mut self, span: Span) {
        let word = self.text.get(span.0..span.1).unwrap_or_default();
        // Otherwise it is not a word of this command itself, or it is a word that becomes several arguments.
        let expands = word.contains(['*', '?', '[', '$', '`']);
        let meant = word.trim_start_matches(['"', '\'', '\\', '$']).starts_with('-');
        if !expands || meant || word.replace("${", "").contains('{') {
            return self.unknown("an argument that is not known before it runs could be an option", span);
        }
        self.insert(span.0, "-- ".to_owned());
    }

    /// Puts `text` in the place of `length` bytes at `at` in the hardened form.
    pub(crate) fn replace(&mut self, at: usize, length: usize, text: &str) {
        self.hardening.replaced.insert(at, length);
        self.insert(at, text.to_owned());
    }

    /// Whether the word at `span` is written exactly as the program gets it.
    pub(crate) fn is_plain(&self, span: Span, bytes: &[u8]) -> bool {
        self.text.as_bytes().get(span.0..span.1) == Some(bytes)
    }

    /// The source of the word at `span`.
    pub(crate) fn source(&self, span: Span) -> &str {
        self.text.get(span.0..span.1).unwrap_or_default()
    }

    /// Inserts `text` at `at` in the hardened form.
    pub(crate) fn insert(&mut self, at: usize, text: String) {
        let other = self.hardening.edits.get(&at).is_some_and(|known| *known != text);
        self.hardening.touched.insert(at);
        self.hardening.edits.insert(at, text);
        if other {
            self.unknown("a command that would have to run in two ways", (at, at));
        }
    }

    /// The command runs only where these files are missing or empty.
    pub(crate) fn needs_absent(&mut self, path: &[u8]) {
        for folder in self.state.folders.clone() {
            self.hardening.absent.extend(self.resolve(path, &folder));
        }
    }

    pub(crate) fn set_environment(&mut self, name: &str, value: &str) {
        let environment = Arc::make_mut(&mut self.hardening.environment);
        environment.insert(name.to_owned(), value.to_owned());
    }

    /// Git is started in the current folder and needs these variables.
    pub(crate) fn harden_git(&mut self, environment: &Arc<BTreeMap<String, String>>) {
        let known = &mut self.hardening.environment;
        if known.is_empty() {
            known.clone_from(environment);
        } else if !Arc::ptr_eq(known, environment) {
            let pairs = environment.iter().map(|(name, value)| (name.clone(), value.clone()));
            Arc::make_mut(known).extend(pairs);
        }
        let mut nameless = false;
        for folder in &self.state.folders {
            if let Folder::Inside(folder) = folder {
                self.hardening.git_folders.insert(folder.clone());
                // The executor is told by text where to look for a repository, so the folder's name must be UTF-8.
                nameless |= std::str::from_utf8(folder.as_bytes()).is_err();
            }
        }
        if nameless {
            self.unknown("git in a folder whose name is no text", (0, self.text.len()));
        }
    }

    /// What is known of the lines that the last command printed.
    pub(super) fn printed_lines(&mut self) -> Value {
        let at = self.printed_end;
        match self.printed {
            Some(Printed::Count) => Value::COUNT,
            Some(Printed::Object) => Value::Some(Shape::WORD),
            Some(Printed::Counts) => Value::Some(Shape::COUNTS),
            Some(Printed::Names(Names { nul, clean: true, rooted, .. })) => {
                Value::Some(Shape { nul, rooted, dash_first: false, ..Shape::LISTED })
            }
            Some(Printed::Names(Names { nul, begun, rooted, .. })) => {
                let number = self.hardening.number(Fix::Filter { at, nul, rooted });
                let shape = Shape { nul, rooted, dash_first: !begun, ..Shape::LISTED };
                number.map_or(Value::ANY, |fixes| Value::Some(Shape { fixes, ..shape }))
            }
            Some(Printed::Located) | None => Value::ANY,
        }
    }

    /// The value of a line if the `read` that gives it would remove blanks from its ends, unless it is told
    /// otherwise.
    pub(crate) fn whole_line(&mut self, line: Value) -> Value {
        let shape = line.shape();
        let at = match self.line_ends {
            LineEnds::Kept => return line,
            // A line without blanks at its ends loses nothing.
            _ if !shape.not_number || line == Value::ANY => return line,
            LineEnds::Cut(at) => at,
            LineEnds::Unknown => return Value::ANY,
        };
        let number = self.hardening.number(Fix::WholeLines { at });
        number.map_or(Value::ANY, |fix| Value::Some(Shape { fixes: shape.fixes | fix, ..shape }))
    }

    /// The value of a line if the `read` at `span` that gives it would take backslashes out of it, unless it is told
    /// otherwise.
    pub(crate) fn raw_line(&mut self, line: Value, span: Span) -> Value {
        let shape = line.shape();
        if !shape.not_number || line == Value::ANY {
            return line;
        }
        if self.source(span) != "read" {
            return Value::ANY;
        }
        let number = self.hardening.number(Fix::RawLines { at: span.1 });
        number.map_or(Value::ANY, |fix| Value::Some(Shape { fixes: shape.fixes | fix, ..shape }))
    }

    /// Something relies on what is known of an argument, so the insertions that make it true are made.
    pub(crate) fn settle(&mut self, arg: &Arg) {
        if arg.fixes != 0 {
            self.make(arg.fixes, arg.many);
        }
    }

    /// Makes the insertions `fixes`. `words`: whether the listed names are also split into words.
    pub(crate) fn make(&mut self, fixes: u32, words: bool) {
        let mut differs = false;
        for (place, fix) in self.hardening.fixes.iter().enumerate().take(MAX_FIXES) {
            if fixes & (1 << place) == 0 {
                continue;
            }
            match fix {
                Fix::Filter { at, nul, rooted } => {
                    let options = if *nul { "-zE" } else { "-E" };
                    let script = if words && !nul { WORDS } else { LINES };
                    let filter = Filter { options, script, rooted: *rooted };
                    let known = self.hardening.filters.entry(*at).or_insert(filter);
                    differs |= known.rooted != *rooted;
                    if script == WORDS {
                        *known = filter;
                    }
                }
                Fix::WholeLines { at } => {
                    self.hardening.edits.insert(*at, "IFS= ".to_owned());
                }
                Fix::RawLines { at } => {
                    self.hardening.edits.insert(*at, " -r".to_owned());
                }
            }
        }
        if differs {
            self.unknown("a command that would have to run in two ways", (0, self.text.len()));
        }
    }
}
