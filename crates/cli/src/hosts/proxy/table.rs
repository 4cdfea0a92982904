//! What is known of agents: how each asks before it acts, and where it keeps its conversations. Nothing here reads or writes.

use std::path::Path;

/// An agent that can be forked and adopted.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Row {
    /// As it is named to people, and in the file that keeps what was taken.
    pub(super) name: &'static str,
    /// Programs, by the last part of their path, and parts of the names of packages.
    programs: &'static [&'static str],
    /// A word that has to be among the arguments.
    argument: Option<&'static str>,
    /// The mode of its sessions in which it asks before it acts.
    pub(super) asks_in: &'static str,
    /// Folders of the home that it reads; what it writes to them is forgotten.
    pub(super) reads: &'static [&'static str],
    /// Files of the home that it has a copy of; what it writes to them is forgotten.
    pub(super) copies: &'static [&'static str],
    /// Folders of the home in which it keeps conversations. They are those of the machine, for that is where the first agent finds a fork.
    pub(super) keeps: &'static [&'static str],
    /// Variables that move these folders; where one of them is set, nothing runs ahead.
    pub(super) moved_by: &'static [&'static str],
    /// Modes of a session in which its user is not asked about edits.
    pub(super) edits_in: &'static [&'static str],
}

const ROWS: [Row; 1] = [Row {
    name: "claude-agent-acp",
    programs: &["claude-agent-acp", "claude-code-acp"],
    argument: None,
    asks_in: "default",
    reads: &[".claude"],
    copies: &[".claude.json"],
    keeps: &[".claude/projects"],
    moved_by: &["CLAUDE_CONFIG_DIR"],
    edits_in: &["acceptEdits", "bypassPermissions"],
}];

/// What is known of the agent that a command line starts.
pub(super) fn row(command: &[String]) -> Option<&'static Row> {
    let starts = |row: &&Row, word: &String| {
        let path = Path::new(word);
        let last = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        // A package may be named with a version, and a program by the folder of its package.
        let package = last.split('@').next().unwrap_or_default();
        row.programs.iter().any(|program| {
            last == *program || package == *program || path.iter().any(|part| part == *program)
        })
    };
    ROWS.iter().find(|row| {
        let named = command.iter().take_while(|word| *word != "--").any(|word| starts(row, word));
        named && row.argument.is_none_or(|argument| command.iter().any(|word| word == argument))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_is_known_by_its_program_or_its_package() {
        let name = |line: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            row(&words).map(|row| row.name)
        };
        for line in [
            "claude-agent-acp",
            "/usr/local/bin/claude-agent-acp --verbose",
            "npx -y @agentclientprotocol/claude-agent-acp@0.101.0",
            "node /opt/node_modules/@agentclientprotocol/claude-agent-acp/dist/index.js",
        ] {
            assert_eq!(name(line), Some("claude-agent-acp"), "{line}");
        }
        for line in ["gemini --acp", "my-agent", "/home/me/claude", "echo claude-agent-acp-notes"] {
            assert_eq!(name(line), None, "{line}");
        }
    }

    #[test]
    fn what_is_kept_lies_in_what_is_read() {
        for row in &ROWS {
            for kept in row.keeps {
                assert!(row.reads.iter().any(|read| Path::new(kept).starts_with(read)), "{kept}");
                assert!(!row.reads.contains(kept), "settings beside {kept} would be written");
            }
        }
    }
}
