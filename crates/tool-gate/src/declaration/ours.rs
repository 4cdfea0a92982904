//! Declarations of this project's other tools. A host that offers them adds these to its context
//! ([`GateContext::tools`](crate::GateContext::tools)); otherwise a call of one is a call of an undeclared tool.

use std::borrow::Cow;

use super::built_in::{argument, tool};
use super::{Argument, Behaviour, Declaration, Role, Text, Words};

/// All of them.
pub(super) static ALL: [&Declaration; 13] = [
    &MULTI_EDIT,
    &CREATE_FILE,
    &VIEW_DIFF,
    &RUN_IN_BACKGROUND,
    &COMMAND_OUTPUT,
    &STOP_COMMAND,
    &CODEBASE,
    &REPO_MAP,
    &REQUEST_RULE,
    &CREATE_RULE,
    &TASK,
    &FETCH_URL,
    &SEARCH_WEB,
];

/// Edits a file in several places at once.
pub static MULTI_EDIT: Declaration = tool(
    "multi_edit",
    &[],
    Behaviour::Edits,
    &EDITED,
    Words { title: "Edit a file", verb: "edit", now: "editing", then: "edited", what: "{file_path}" },
)
.in_files_as(&["builtin_multi_edit"]);

/// Makes a file.
pub static CREATE_FILE: Declaration = tool(
    "create_file",
    &[],
    Behaviour::Edits,
    &EDITED,
    Words { title: "Create a file", verb: "create", now: "creating", then: "created", what: "{file_path}" },
)
.in_files_as(&["builtin_create_new_file"]);

/// Compares with the last commit.
pub static VIEW_DIFF: Declaration = tool(
    "view_diff",
    &[],
    Behaviour::ReadsRepository,
    &READ,
    Words {
        title: "Compare with the last commit",
        verb: "compare with the last commit",
        now: "comparing with the last commit",
        then: "compared with the last commit",
        what: "{path|the project}",
    },
)
.in_files_as(&["builtin_view_diff"]);

/// Runs a command that goes on after its call.
pub static RUN_IN_BACKGROUND: Declaration = tool(
    "run_in_background",
    &[],
    Behaviour::RunsInBackground,
    &COMMAND,
    Words {
        title: "Run in the background",
        verb: "start",
        now: "starting",
        then: "started",
        what: "{command}",
    },
);

/// Shows what a background command has printed.
pub static COMMAND_OUTPUT: Declaration = tool(
    "command_output",
    &[],
    Behaviour::ServesSession,
    &[],
    Words {
        title: "Read a command's output",
        verb: "read the output of command",
        now: "reading the output of command",
        then: "read the output of command",
        what: "{number}",
    },
);

/// Ends a background command.
pub static STOP_COMMAND: Declaration = tool(
    "stop_command",
    &[],
    Behaviour::ServesSession,
    &[],
    Words {
        title: "Stop a command",
        verb: "stop command",
        now: "stopping command",
        then: "stopped command",
        what: "{number}",
    },
);

/// Searches the index of the project.
pub static CODEBASE: Declaration = tool(
    "codebase",
    &[],
    Behaviour::Searches,
    &READ,
    Words {
        title: "Search the project",
        verb: "search the project for",
        now: "searching the project for",
        then: "searched the project for",
        what: "{query}",
    },
);

/// Lists what the project declares, file by file.
pub static REPO_MAP: Declaration = tool(
    "repo_map",
    &[],
    Behaviour::Searches,
    &READ,
    Words {
        title: "Look at the project",
        verb: "look at",
        now: "looking at",
        then: "looked at",
        what: "{path|the project}",
    },
)
.in_files_as(&["builtin_view_repo_map"]);

/// Reads a rule of the project by its name.
pub static REQUEST_RULE: Declaration = tool(
    "request_rule",
    &[],
    Behaviour::Reads,
    &[],
    Words {
        title: "Read a rule",
        verb: "read the rule",
        now: "reading the rule",
        then: "read the rule",
        what: "{name}",
    },
)
.in_files_as(&["builtin_request_rule"]);

/// Writes a rule of the project. What it writes instructs models from then on, so the tool is only offered if its
/// user's own configuration names it.
// Written field by field, because a `const fn` cannot drop the text of `at` that it would replace.
pub static CREATE_RULE: Declaration = Declaration {
    name: Cow::Borrowed("create_rule"),
    behaviour: Behaviour::Stages,
    words: Some(Words {
        title: "Write a rule",
        verb: "write the rule",
        now: "writing the rule",
        then: "wrote the rule",
        what: "{name}",
    }),
    aliases: &[],
    policy_names: &["builtin_create_rule_block"],
    arguments: Cow::Borrowed(&[]),
    at: Some(Cow::Borrowed(".headstart/rules")),
    on_request: true,
};

/// Has a part of the work done in a conversation of its own.
pub static TASK: Declaration = tool(
    "task",
    &[],
    Behaviour::RunsSubTask,
    &[],
    Words {
        title: "Have a part done",
        verb: "have a part done:",
        now: "having a part done:",
        then: "had a part done:",
        what: "{title}",
    },
);

/// Fetches a page of the web.
pub static FETCH_URL: Declaration = tool(
    "fetch_url",
    &[],
    Behaviour::Network,
    &URL,
    Words { title: "Fetch a page", verb: "fetch", now: "fetching", then: "fetched", what: "{url}" },
)
.in_files_as(&["builtin_fetch_url_content"]);

/// Searches the web.
pub static SEARCH_WEB: Declaration = tool(
    "search_web",
    &[],
    Behaviour::Network,
    &[],
    Words {
        title: "Search the web",
        verb: "search the web for",
        now: "searching the web for",
        then: "searched the web for",
        what: "{query}",
    },
)
.in_files_as(&["builtin_search_web"]);

static FILE_PATH: [Text; 1] = [Cow::Borrowed("file_path")];
static PATH: [Text; 1] = [Cow::Borrowed("path")];

static EDITED: [Argument; 1] = [argument(Role::Changed, &FILE_PATH, true)];
static READ: [Argument; 1] = [argument(Role::Read, &PATH, false)];
static URL: [Argument; 1] = [argument(Role::Address, &[Cow::Borrowed("url")], true)];
static COMMAND: [Argument; 2] = [
    argument(Role::Command, &[Cow::Borrowed("command")], true),
    argument(Role::Folder, &[Cow::Borrowed("directory")], false),
];
