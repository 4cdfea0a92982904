use headstart_tool_gate::ApprovalMode;

use crate::config::parse_mode;

/// What a line that begins with a slash asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Command {
    Help,
    Clear,
    Diff,
    Mode(ApprovalMode),
    Quit,
}

/// What `/help` prints.
pub(super) const HELP: &str = "\
/diff        what the work ahead would change
/mode MODE   default, plan, auto-edit or yolo, from now on
/clear       forget the conversation
/quit        leave (also Ctrl-D)
Tab or Right takes the suggestion into the prompt, Esc dismisses it, Enter sends what is in the prompt.
Ctrl-C interrupts a turn.";

/// The command in a line; `None` for a prompt. An error says what there is.
pub(super) fn parse(line: &str) -> Option<Result<Command, String>> {
    let mut words = line.strip_prefix('/')?.split_whitespace();
    let command = match (words.next().unwrap_or_default(), words.next()) {
        ("help", None) => Ok(Command::Help),
        ("clear", None) => Ok(Command::Clear),
        ("diff", None) => Ok(Command::Diff),
        ("quit" | "exit", None) => Ok(Command::Quit),
        ("mode", Some(mode)) => parse_mode(mode).map(Command::Mode),
        (name, _) => Err(format!("there is no command /{name} of that form; /help lists them")),
    };
    Some(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_with_a_slash_are_commands() {
        assert_eq!(parse("fix the parser"), None);
        assert_eq!(parse("/mode yolo"), Some(Ok(Command::Mode(ApprovalMode::Yolo))));
        assert_eq!(parse("/quit"), Some(Ok(Command::Quit)));
        for wrong in ["/", "/mode", "/mode fast", "/clear all", "/nothing"] {
            assert!(matches!(parse(wrong), Some(Err(_))), "{wrong}");
        }
    }
}
