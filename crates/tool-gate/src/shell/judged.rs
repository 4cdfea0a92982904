//! Which commands a text holds, and who decided about them.

use std::collections::BTreeSet;

use super::value::Arg;
use super::{Access, Span};
use crate::shadow::needs_host;

/// The commands of a text that were judged, and the policies that decided about them, by their places.
#[derive(Debug, Default)]
pub(crate) struct Judged {
    /// Where they stand; what a wrapper starts is part of it.
    pub(crate) commands: Vec<Span>,
    /// The programs that the shell or one of them starts, or that are commands of the shell's own, by their names.
    pub(crate) programs: BTreeSet<String>,
    /// The first program, as the shell spells it, that needs the machine itself ([`needs_host`]).
    pub(crate) on_host: Option<(String, Span)>,
    pub(crate) allowed: Vec<usize>,
    pub(crate) stopped: Vec<usize>,
    /// Those that would have allowed what needs none; only examples are judged so.
    pub(crate) unneeded: Vec<usize>,
    /// What a deny rule covers and a command names.
    pub(crate) closed: Vec<Access>,
    /// What holds a secret by its name and is named as a part of what a repository keeps (`HEAD:.env`).
    pub(crate) kept: Vec<Access>,
    /// Whether one of them may take the shell to another folder.
    pub(crate) leaves_folder: bool,
    /// How many there are, with those that wrappers start.
    pub(super) count: usize,
    /// How often a policy vouched for one.
    pub(super) vouched: usize,
}

impl Judged {
    /// Remembers a command by its program, where that stands, and its arguments.
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

    /// How many policies vouched for a command, counted as often as they did.
    pub(super) fn allowed_so_far(&self) -> usize {
        self.vouched
    }
}
