//! Which commands a text contains, and who decided about them.

use std::collections::{BTreeMap, BTreeSet};

use super::value::Arg;
use super::{Access, Span};
use crate::needs_host;

/// The commands of a text that were judged, and the policies that decided about them, by index.
#[derive(Debug, Default)]
pub(crate) struct Judged {
    /// The spans of the commands; what a wrapper starts is part of the wrapper's.
    pub(crate) commands: Vec<Span>,
    /// The names of the programs that the shell or one of them starts; some may be built into the shell.
    pub(crate) programs: BTreeSet<String>,
    /// The first program that needs the machine itself ([`needs_host`]), as the shell spells it.
    pub(crate) on_host: Option<(String, Span)>,
    pub(crate) allowed: Vec<usize>,
    pub(crate) stopped: Vec<usize>,
    /// Policies that would have allowed a command which needed none. Only examples are judged so.
    pub(crate) unneeded: Vec<usize>,
    /// Paths that the commands name and a deny rule covers.
    pub(crate) closed: Vec<Access>,
    /// Paths of secrets that the commands name as content of a repository (`HEAD:.env`).
    pub(crate) kept: Vec<Access>,
    /// The variables that may show a secret of the environment and whose values are used, each with whether the text
    /// has certainly given it its value.
    pub(crate) variables: BTreeMap<String, bool>,
    /// Whether the command that is judged is git itself, which reads a repository's configuration.
    pub(crate) is_git: bool,
    /// Whether one of the commands may show what the configuration of a repository says.
    pub(crate) shows_settings: bool,
    /// Whether one of the commands may change the shell's folder.
    pub(crate) leaves_folder: bool,
    /// How many commands there are, including those that wrappers start.
    pub(super) count: usize,
    /// How often a policy vouched for a command.
    pub(super) vouched: usize,
}

impl Judged {
    /// Notes a command by its program, the span of its name, and its arguments.
    pub(super) fn command(&mut self, program: &str, name: Span, args: &[Arg]) {
        if !self.programs.contains(program) {
            self.programs.insert(program.to_owned());
        }
        if self.on_host.is_none() && needs_host::is_listed(program) {
            self.on_host = Some((program.to_owned(), name));
        }
        let end = args.iter().map(|arg| arg.span.1).fold(name.1, usize::max);
        let within = |outer: &Span| outer.0 <= name.0 && end <= outer.1;
        if !self.commands.last().is_some_and(within) {
            self.commands.push((name.0, end));
        }
    }

    /// How often policies have vouched for a command so far.
    pub(super) fn allowed_so_far(&self) -> usize {
        self.vouched
    }
}
