//! The tools whose meaning the gate knows, under every name that models call them by.

use std::borrow::Cow;

use super::{Argument, Behaviour, Declaration, Role, Text, Words};

/// All built-in tools.
pub(super) static ALL: [&Declaration; 7] = [&READ_FILE, &GREP, &GLOB, &LS, &EDIT, &WRITE_FILE, &SHELL];

/// Reads a file.
pub static READ_FILE: Declaration = tool(
    "read_file",
    &["read_file_range", "Read", "ReadFile"],
    Behaviour::Reads,
    const { &[argument(Role::Read, &PATH, true)] },
    Words { title: "Read a file", verb: "read", now: "reading", then: "read", what: FILE },
)
.in_files_as(&["builtin_read_file", "builtin_read_file_range"]);

/// Searches the content of files.
pub static GREP: Declaration = tool(
    "grep",
    &["grep_search", "search_file_content", "Grep"],
    Behaviour::Searches,
    const {
        &[
            argument(Role::Read, &PATH, false),
            argument(Role::Pattern, &[Cow::Borrowed("glob")], false),
            argument(Role::Pattern, &[Cow::Borrowed("include")], false),
        ]
    },
    Words {
        title: "Search in files",
        verb: "search for",
        now: "searching for",
        then: "searched for",
        what: "{pattern}",
    },
)
.in_files_as(&["builtin_grep_search"]);

/// Finds files by name.
pub static GLOB: Declaration =
    tool(
        "glob",
        &["Glob"],
        Behaviour::Searches,
        const {
            &[argument(Role::Read, &PATH, false), argument(Role::Pattern, &[Cow::Borrowed("pattern")], false)]
        },
        Words {
            title: "Find files",
            verb: "find files named",
            now: "finding files named",
            then: "found files named",
            what: "{pattern}",
        },
    )
    .in_files_as(&["builtin_file_glob_search"]);

/// Lists a folder.
pub static LS: Declaration = tool(
    "ls",
    &["list_directory", "LS", "ListFiles"],
    Behaviour::Searches,
    const { &[argument(Role::Read, &PATH, false)] },
    Words { title: "List a folder", verb: "list", now: "listing", then: "listed", what: "{path|dir_path|.}" },
)
.in_files_as(&["builtin_ls"]);

/// Replaces text in a file.
pub static EDIT: Declaration = tool(
    "edit",
    &["replace", "Edit"],
    Behaviour::Edits,
    const { &[argument(Role::Changed, &PATH, true)] },
    Words { title: "Edit a file", verb: "edit", now: "editing", then: "edited", what: FILE },
)
.in_files_as(&["builtin_edit_existing_file", "builtin_single_find_and_replace"]);

/// Writes a whole file.
pub static WRITE_FILE: Declaration = tool(
    "write_file",
    &["Write", "WriteFile"],
    Behaviour::Edits,
    const { &[argument(Role::Changed, &PATH, true)] },
    Words { title: "Write a file", verb: "write", now: "writing", then: "wrote", what: FILE },
);

/// Runs a shell command.
pub static SHELL: Declaration = tool(
    "shell",
    &["run_shell_command", "Bash", "Shell"],
    Behaviour::RunsCommand,
    const {
        &[
            argument(Role::Command, &[Cow::Borrowed("command"), Cow::Borrowed("cmd")], true),
            argument(Role::Folder, &FOLDER, false),
            argument(Role::Outlives, &[Cow::Borrowed("is_background")], false),
            argument(Role::Outlives, &[Cow::Borrowed("run_in_background")], false),
        ]
    },
    Words { title: "Run a command", verb: "run", now: "running", then: "ran", what: "{command|cmd}" },
)
.in_files_as(&["builtin_run_terminal_command"]);

/// The names that models use for the path of a call.
static PATH: [Text; 6] = [
    Cow::Borrowed("file_path"),
    Cow::Borrowed("path"),
    Cow::Borrowed("filePath"),
    Cow::Borrowed("absolute_path"),
    Cow::Borrowed("notebook_path"),
    Cow::Borrowed("dir_path"),
];

/// The names that models use for the folder in which a shell command runs.
static FOLDER: [Text; 4] =
    [Cow::Borrowed("directory"), Cow::Borrowed("dir_path"), Cow::Borrowed("cwd"), Cow::Borrowed("workdir")];

/// The path of a call, for descriptions: whichever of its names the call uses.
const FILE: &str = "{file_path|path|filePath|absolute_path}";

pub(super) const fn tool(
    name: &'static str,
    aliases: &'static [&'static str],
    behaviour: Behaviour,
    arguments: &'static [Argument],
    words: Words,
) -> Declaration {
    let (name, arguments) = (Cow::Borrowed(name), Cow::Borrowed(arguments));
    Declaration {
        name,
        behaviour,
        words: Some(words),
        aliases,
        policy_names: &[],
        arguments,
        at: None,
        on_request: false,
    }
}

pub(super) const fn argument(role: Role, names: &'static [Text], is_required: bool) -> Argument {
    Argument { role, names: Cow::Borrowed(names), may_be_list: false, is_required }
}
