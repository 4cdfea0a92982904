//! The commands of a chat, as they are needed for the help, for completion, and to find the nearest name.

use std::borrow::Cow;
use std::fmt::Write as _;

/// A command with its description, which fits a row of 80 columns.
pub(super) struct Entry {
    pub(super) name: &'static str,
    /// What follows the name; empty if the command has no argument.
    pub(super) argument: &'static str,
    pub(super) words: &'static str,
    /// The possible arguments, if they are a few fixed words.
    pub(super) choices: &'static [&'static str],
}

const fn entry(name: &'static str, argument: &'static str, words: &'static str) -> Entry {
    Entry { name, argument, words, choices: &[] }
}

/// All commands, in the order of the help.
pub(super) const COMMANDS: [Entry; 25] = [
    entry("help", "", "the commands and keys"),
    entry("diff", "", "what is staged, or what the work ahead would change"),
    Entry {
        choices: &["off", "on"],
        ..entry("suggest", "[off|on]", "ask now for what could come next; off: no suggestions in this chat")
    },
    entry("undo", "", "take back what the last turn wrote, yours or ahead"),
    entry("write", "", "write what your turns have staged (or y alone)"),
    entry("drop", "", "drop what your turns have staged (or n alone)"),
    Entry {
        choices: &["plan", "chat", "default", "auto-edit", "yolo"],
        ..entry("mode", "[MODE]", "what may run: plan, chat (no tools), default, auto-edit, yolo")
    },
    entry("go", "", "end plan mode: the plan is carried out in default mode"),
    entry("model", "[NAME]", "who answers, as anthropic:NAME; --fast NAME: who works ahead"),
    Entry {
        choices: &["off", "auto", "always", "more"],
        ..entry(
            "background",
            "[HOW]",
            "how work ahead stands; off, auto, always; more grants the day's limit again",
        )
    },
    entry("permissions", "[N]", "what you said yes to for this session; N is asked about again"),
    entry("tools", "", "what tools the model has, and what becomes of their calls"),
    Entry {
        choices: &["reload", "login", "logout"],
        ..entry(
            "mcp",
            "[reload|login|logout]",
            "how the tool servers stand; start them anew, log in to NAME or out of it",
        )
    },
    entry("context", "", "what the model is told, and how full that is"),
    entry("cost", "", "what this conversation has cost"),
    entry("stats", "", "what work ahead was good for in this chat"),
    Entry {
        choices: &["code"],
        ..entry("copy", "[N|code]", "the last answer, or one before it, or the last code, to the clipboard")
    },
    entry("retry", "", "send the last prompt once more"),
    entry("title", "TEXT", "call this conversation so"),
    entry("resume", "", "leave this conversation and choose another one"),
    entry("compact", "", "have what was said summed up, all but the last turns"),
    entry("clear", "", "forget the conversation"),
    entry("editor", "", "write the prompt in $VISUAL or $EDITOR (also Ctrl-G)"),
    Entry {
        choices: &["terminal", "dark", "light", "blue-orange"],
        ..entry("theme", "[NAME]", "the colours: terminal, dark, light, blue-orange")
    },
    entry("quit", "", "leave (also Ctrl-D)"),
];

/// The least columns for the description of a command.
const MIN_WORDS: usize = 16;

/// What `/help` prints below the commands.
const KEYS: &str = "\
Tab takes the suggestion and what ran ahead for it; in default mode you are asked before anything is written.
Right puts it into the prompt to be edited, Enter sends the prompt, Esc dismisses the suggestion.
Of several, Down (or Alt-Down) lists all, with what ran; 1, 2, 3 or Enter takes one.
Alt-N shows the next, Alt-P the one before; typing narrows them.
A slash or an @ lists what could be meant: Tab takes the marked one, Up and Down move the mark, Esc closes the list.
@FILE, @FOLDER/, @FILE:10-20, @rule:NAME, @diff, @codebase, @https://… and @SERVER:URI (what a tool server has) go to the model with your prompt.
Alt-Enter, or a backslash and Enter, begins a new line. Up and Down go through the prompts that were sent and begin with what is typed, Ctrl-R searches them.
While prompts wait for their turn, Up in an empty prompt takes the last one back.
!COMMAND runs a command of yours, and the model is told of it with your next prompt; !!COMMAND, and it is not.
A prompt that begins with a slash is written with two; a path needs no second one.
Ctrl-T opens the whole conversation to be read, Ctrl-O what the work ahead would change, else the last output, whole.
Ctrl-G opens the prompt in $VISUAL or $EDITOR, Shift-Tab changes the mode, Ctrl-Y puts back what was cut, Ctrl-_ takes an edit back.
Ctrl-C and Esc interrupt a turn, and what was to follow is in the prompt again; else Ctrl-C empties the prompt; twice, it leaves.
`headstart keys` lists all keys; [keys] in your configuration changes them.";

impl Entry {
    /// The command as it is typed.
    pub(super) fn usage(&self) -> String {
        format!("/{} {}", self.name, self.argument).trim_end().to_owned()
    }
}

/// What `/help` prints on a terminal with this many columns. If a description does not fit beside its command, it
/// continues below.
pub(super) fn help(columns: usize) -> String {
    let width = COMMANDS.iter().map(|entry| entry.usage().len()).max().unwrap_or(0);
    let is_wide = 2 * width <= columns;
    let indent = if is_wide { width + 2 } else { 4 };
    let room = columns.saturating_sub(indent).max(MIN_WORDS);
    let mut text = String::new();
    for entry in &COMMANDS {
        let whole_words = textwrap::Options::new(room).word_splitter(textwrap::WordSplitter::NoHyphenation);
        let mut rows = textwrap::wrap(entry.words, whole_words).into_iter();
        let usage = entry.usage();
        let first = if is_wide { rows.next().unwrap_or_default() } else { Cow::default() };
        // Writing to a `String` cannot fail.
        let _ = writeln!(text, "{}", format!("{usage:width$}  {first}").trim_end());
        for row in rows {
            let _ = writeln!(text, "{:indent$}{row}", "");
        }
    }
    for line in KEYS.lines() {
        text += "\n- ";
        text += line;
    }
    text
}

/// Finds the command of this name.
pub(super) fn find(name: &str) -> Option<&'static Entry> {
    COMMANDS.iter().find(|entry| entry.name == name)
}

/// The command with the most similar name, if one is similar enough.
pub(super) fn nearest(name: &str) -> Option<&'static str> {
    const ALIKE: f64 = 0.7;
    let likeness = |entry: &Entry| strsim::jaro(name, entry.name);
    let best = COMMANDS.iter().max_by(|one, other| likeness(one).total_cmp(&likeness(other)))?;
    (ALIKE < likeness(best)).then_some(best.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_a_slip_is_near_and_another_is_not() {
        for (typed, expected) in [
            ("hlep", Some("help")),
            ("qiut", Some("quit")),
            ("permision", Some("permissions")),
            ("helpme", Some("help")),
            ("xyz", None),
            ("", None),
        ] {
            assert_eq!(nearest(typed), expected, "{typed}");
        }
    }

    #[test]
    fn each_command_has_one_row_of_the_help() {
        for columns in [40, 80, 120] {
            let help = help(columns);
            let (commands, keys) = help.split_once("\n\n").unwrap();
            assert!(commands.lines().all(|row| row.chars().count() <= columns), "{commands}");
            assert_eq!(commands.lines().filter(|row| row.starts_with('/')).count(), COMMANDS.len());
            assert_eq!(keys.lines().filter(|row| row.starts_with("- ")).count(), KEYS.lines().count());
        }
        assert!(help(80).contains("/suggest [off|on]           ask now for what could come next; off: no\n"));
        assert!(help(80).contains("\n                            suggestions in this chat\n"));
        // The name of a mode must not be broken, because it is typed as one word.
        assert!(help(80).contains("default,\n                            auto-edit, yolo\n"));
        assert!(help(40).contains("/quit\n    leave (also Ctrl-D)\n"));
    }

    #[test]
    fn all_that_an_at_may_name_is_in_the_help() {
        let outside =
            ["@diff", "@codebase", "@https://", "@SERVER:URI", "@rule:NAME", "@FOLDER/", "@FILE:10-20"];
        assert_eq!(outside.into_iter().find(|mention| !KEYS.contains(mention)), None);
    }
}
