//! What is said of a tool: the gate's own and those of hosts, in the same words.

mod argument;
pub mod built_in;
mod make;
pub mod ours;

use std::borrow::Cow;

use headstart_workspace_path::WorkspacePath;
use serde_json::{Map, Value};

pub use self::argument::{Argument, Role};
use crate::{GateContext, GateError};

/// A text of a declaration, which the built-in ones have from the start of the program.
pub(crate) type Text = Cow<'static, str>;

/// What is said of a tool, so that the gate can judge calls of it: which of its arguments are paths, commands or addresses, what it does, and how it is
/// called before people.
///
/// The [built-in tools](Self::all_built_in) are declared as a host's own are. What a host says of its tool is the host's word: the gate holds the
/// paths that a call names against the workspace and the rules; what else the tool does is not looked at, so nothing that runs programs or reaches a
/// network may be declared but as such. A tool that nobody declares asks in a turn, and ahead of the user it is a boundary.
///
/// No declaration of a host's changes what is known of a built-in tool, under none of its names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declaration {
    /// The tool's name, as it is offered to a model.
    pub name: Text,
    /// What it does.
    pub does: Does,
    /// It and its calls in words. Those of a host's tool its host has.
    words: Option<Words>,
    /// Other names by which a built-in tool is called. A name is one only where its arguments mean the same: a tool that edits several files at once
    /// or reads several is not one. A host's tool has one name.
    aliases: &'static [&'static str],
    /// Names that configuration files of other programs have for what it does.
    policy_names: &'static [&'static str],
    /// The arguments that mean something to the gate. Others are never taken for a path.
    arguments: Cow<'static, [Argument]>,
    /// A folder or file of the workspace that every call is about, whatever its arguments are.
    at: Option<Text>,
    /// Whether it is there only where its user names it.
    on_request: bool,
}

/// A tool and its calls in words, for people: `Edit a file`, `edit`, `editing`, `edited`, and what that is done to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Words {
    /// The tool itself.
    pub title: &'static str,
    /// What it does, behind "wants to".
    pub verb: &'static str,
    /// The same behind "is".
    pub now: &'static str,
    /// The same of a call that is done.
    pub then: &'static str,
    /// To what: `{name}` stands for the argument of that name, `{one|other}` for the first of several that is there.
    pub what: &'static str,
}

/// What a declared tool does, to the workspace and nothing else.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Does {
    /// It reads the merged view, and leaves out what the rules close ([`GateContext::denies`](crate::GateContext::denies)).
    Reads,
    /// The same, and it shows some of what is at or below its paths: lines, names.
    Searches,
    /// As `Reads`, and it reads the repository as it is on disk, which knows nothing of commits that work ahead made: whoever runs such work has to look
    /// whether there are any.
    ReadsRepository,
    /// It stages changes of the files that its arguments name, and does nothing else.
    Edits,
    /// It also stages changes, at the paths of its arguments or elsewhere in the workspace. They are held against the rules once more
    /// when the work is taken.
    Stages,
    /// It stages where a call gives this argument, and only reads where that is absent or `null`.
    StagesWith(Text),
    /// It runs a shell command and answers when that has ended. Only the built-in shell runs one as the gate has proven it: a call of a host's own is
    /// for its user.
    RunsCommand,
    /// It runs a shell command that outlives its call. A turn asks before it, and work ahead stops before it.
    RunsInBackground,
    /// It is about what runs beside the user's own turns, which runs in them, and of which work ahead knows nothing: that stops before it.
    ServesSession,
    /// It has a part of the work done in a conversation of its own: whoever runs it has each call that is made there judged by itself.
    RunsSubTask,
    /// It opens a connection, and does nothing to files. A turn asks before it, and work ahead stops before it.
    Network,
    /// Another program does it, on the real files and wherever else that reaches: a tool of a server. A turn asks before it, and work
    /// ahead stops before it.
    #[cfg(feature = "tool-servers")]
    Anything,
    /// The same, but the user vouches that it only reads. It sees the real files, not what is staged: whoever runs work ahead has to look whether
    /// anything is ([`Declaration::sees_real_files`]). Any text of a call may be a path here.
    #[cfg(feature = "tool-servers")]
    ReadsRealFiles,
}

impl Declaration {
    /// The tools of the gate's own, each once.
    pub fn all_built_in() -> &'static [&'static Self] {
        &built_in::ALL
    }

    /// What a built-in tool is, by its name or one of its aliases.
    pub fn built_in(name: &str) -> Option<&'static Self> {
        built_in::ALL.into_iter().find(|tool| tool.name == name || tool.aliases.contains(&name))
    }

    /// What a tool of this project is, by its name or one of its aliases: a [built-in](Self::built_in) one, or one that the gate judges where a host tells
    /// it of it.
    pub fn of_ours(name: &str) -> Option<&'static Self> {
        Self::built_in(name).or_else(|| ours::ALL.into_iter().find(|tool| tool.name == name))
    }

    /// The tools of this project.
    #[cfg(feature = "tool-policies")]
    pub(crate) fn all_of_ours() -> impl Iterator<Item = &'static Self> {
        built_in::ALL.into_iter().chain(ours::ALL)
    }

    /// The tool of this project that goes by this name in a configuration file.
    #[cfg(feature = "tool-policies")]
    pub(crate) fn in_files(name: &str) -> Option<&'static Self> {
        Self::of_ours(name).or_else(|| Self::all_of_ours().find(|tool| tool.policy_names.contains(&name)))
    }

    /// The declaration of `name`: that of the built-in tool where it is one, whatever a host declares.
    pub(crate) fn of<'a>(name: &str, declared: &'a [Self]) -> Option<&'a Self> {
        Self::built_in(name).or_else(|| declared.iter().find(|declaration| declaration.name == name))
    }

    /// Whether it is one of the gate's own.
    pub fn is_built_in(&self) -> bool {
        built_in::ALL.into_iter().any(|tool| std::ptr::eq(tool, self))
    }

    /// Whether the built-in shell answers to this name.
    pub fn is_shell(name: &str) -> bool {
        Self::built_in(name).is_some_and(Self::runs_commands)
    }

    /// It and its calls in words.
    pub const fn words(&self) -> Option<Words> {
        self.words
    }

    /// Whether the tool is there only where its user's own file names it.
    pub const fn is_on_request(&self) -> bool {
        self.on_request
    }

    /// Whether a command of its calls is a line of the shell's.
    pub const fn runs_commands(&self) -> bool {
        matches!(self.does, Does::RunsCommand | Does::RunsInBackground)
    }

    /// Whether it only looks at what the merged view holds.
    pub const fn looks(&self) -> bool {
        matches!(self.does, Does::Reads | Does::Searches | Does::ReadsRepository)
    }

    /// Whether this call may stage something: what a tool is said to do, or that it names a path that it changes.
    pub fn stages_in(&self, args: &Map<String, Value>) -> bool {
        match &self.does {
            Does::RunsInBackground | Does::ServesSession | Does::Network => false,
            #[cfg(feature = "tool-servers")]
            Does::Anything | Does::ReadsRealFiles => false,
            Does::Edits | Does::Stages | Does::RunsCommand | Does::RunsSubTask => true,
            Does::StagesWith(argument) => is_given(args, argument),
            Does::Reads | Does::Searches | Does::ReadsRepository => {
                let mut changed = self.arguments.iter().filter(|argument| argument.role == Role::Changed);
                changed.any(|argument| argument.is_given(args))
            }
        }
    }

    /// Whether another program answers, which sees the real files and nothing of what is staged.
    pub const fn sees_real_files(&self) -> bool {
        #[cfg(feature = "tool-servers")]
        return matches!(self.does, Does::Anything | Does::ReadsRealFiles);
        #[cfg(not(feature = "tool-servers"))]
        false
    }

    /// Whether a call says that it is about this path, or about a folder that holds it.
    pub fn is_about(&self, args: &Map<String, Value>, path: &WorkspacePath, context: &GateContext) -> bool {
        let named = self.paths_in(args).unwrap_or_default();
        let mut named = named.iter().filter_map(|(_, named)| context.resolve(named).ok());
        named.any(|named| !named.is_root() && path.starts_with(&named))
    }

    /// The path that a call names, as it is written, or the folder of a command; `None` where it names none, several, or what is no path.
    pub fn only_path<'a>(&'a self, args: &'a Map<String, Value>) -> Option<&'a str> {
        if self.runs_commands() {
            return self.path_argument(args).ok().flatten();
        }
        match self.paths_in(args).ok()?.as_slice() {
            [(_, path)] => Some(path),
            _ => None,
        }
    }

    /// The one path that a call may give, as it is written, or the folder of a command. `Ok(None)` where there is none; a `null` counts as absent.
    ///
    /// The gate and the tool both ask here, so that they cannot mean different files.
    pub fn path_argument<'a>(&self, args: &'a Map<String, Value>) -> Result<Option<&'a str>, GateError> {
        let is_place = |argument: &&Argument| argument.role.is_path() || argument.role == Role::Folder;
        self.arguments.iter().find(is_place).map_or(Ok(None), |argument| argument.text_in(args))
    }

    /// The text that a call gives for an argument of this role, of several the first that the declaration has.
    pub fn text_of<'a>(
        &self,
        role: Role,
        args: &'a Map<String, Value>,
    ) -> Result<Option<&'a str>, GateError> {
        let argument = self.arguments.iter().find(|argument| argument.role == role);
        argument.map_or(Ok(None), |argument| argument.text_in(args))
    }

    /// The texts that a call gives for arguments of this role; what is no text is left out.
    pub(crate) fn texts_of<'a>(
        &'a self,
        role: Role,
        args: &'a Map<String, Value>,
    ) -> impl Iterator<Item = &'a str> {
        let of_role = self.arguments.iter().filter(move |argument| argument.role == role);
        of_role.filter_map(|argument| argument.text_in(args).ok().flatten())
    }

    /// The name of an argument of this role that a call gives, whatever it is.
    pub(crate) fn given(&self, role: Role, args: &Map<String, Value>) -> Option<&str> {
        let names = self.arguments.iter().filter(|argument| argument.role == role);
        names.flat_map(|argument| &*argument.names).map(|name| &**name).find(|name| args.contains_key(*name))
    }

    /// Whether a call says that what it runs outlives it.
    pub(crate) fn outlives_call(&self, args: &Map<String, Value>) -> bool {
        let says = |name: &str| !matches!(args.get(name), None | Some(Value::Null | Value::Bool(false)));
        let mut flags = self.arguments.iter().filter(|argument| argument.role == Role::Outlives);
        flags.any(|argument| argument.names.iter().any(|name| says(name)))
    }

    /// Whether a call that names no path is answered with an error.
    pub(crate) fn needs_path(&self) -> bool {
        self.arguments.iter().any(|argument| argument.role.is_path() && argument.is_required)
    }

    /// Whether an argument of this name has this role.
    pub fn takes(&self, role: Role, name: &str) -> bool {
        let mut of_role = self.arguments.iter().filter(|argument| argument.role == role);
        of_role.any(|argument| argument.names.iter().any(|known| known == name))
    }

    /// The paths that a call names, as they are written.
    pub(crate) fn paths_in<'a>(
        &'a self,
        args: &'a Map<String, Value>,
    ) -> Result<Vec<(Role, &'a str)>, GateError> {
        let mut paths: Vec<_> = self.at.as_deref().map(|at| (Role::Changed, at)).into_iter().collect();
        for argument in self.arguments.iter().filter(|argument| argument.role.is_path()) {
            argument.add_texts(args, &mut paths)?;
        }
        Ok(paths)
    }
}

/// A `null` counts as absent.
fn is_given(args: &Map<String, Value>, name: &str) -> bool {
    args.get(name).is_some_and(|value| !value.is_null())
}

impl Declaration {
    /// The same, with names that configuration files of other programs have for it.
    const fn in_files_as(mut self, names: &'static [&'static str]) -> Self {
        self.policy_names = names;
        self
    }
}
