//! The nearest command or option to a mistyped one. clap names any that are alike, at times without the nearest.

use clap::Command;
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use headstart_machine::nearest::nearest;

/// The error with the nearest command or option in place of those that clap found. `words` are those of the command
/// line behind the program's name.
pub(crate) fn with_nearest(mut error: Error, root: &Command, words: &[String]) -> Error {
    let (found, suggested) = match error.kind() {
        ErrorKind::InvalidSubcommand => (ContextKind::InvalidSubcommand, ContextKind::SuggestedSubcommand),
        ErrorKind::UnknownArgument => (ContextKind::InvalidArg, ContextKind::SuggestedArg),
        ErrorKind::InvalidValue => return with_near_value(error),
        _ => return error,
    };
    let Some(ContextValue::String(mistyped)) = error.get(found).cloned() else { return error };
    let command = invoked(root, words);
    let known: Vec<String> = if found == ContextKind::InvalidSubcommand {
        let shown = command.get_subcommands().filter(|command| !command.is_hide_set());
        shown.map(|command| command.get_name().to_owned()).collect()
    } else {
        let global = root.get_arguments().filter(|argument| argument.is_global_set());
        let shown = command.get_arguments().chain(global).filter(|argument| !argument.is_hide_set());
        shown.filter_map(|argument| Some(format!("--{}", argument.get_long()?))).collect()
    };
    if let Some(nearest) = nearest(&mistyped, known.iter().map(String::as_str)) {
        let value = if found == ContextKind::InvalidSubcommand {
            ContextValue::Strings(vec![nearest.to_owned()])
        } else {
            ContextValue::String(nearest.to_owned())
        };
        error.insert(suggested, value);
    } else if std::ptr::eq(command, root) && takes(root, "chat", &mistyped) {
        // Whoever leaves the command out means the conversation.
        let tip = format!("'headstart chat' takes '{mistyped}'");
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

/// Whether a command has this option.
fn takes(root: &Command, command: &str, option: &str) -> bool {
    let mut options = root.find_subcommand(command).into_iter().flat_map(Command::get_arguments);
    options.any(|argument| argument.get_long().is_some_and(|long| option.strip_prefix("--") == Some(long)))
}

/// The error without a value that is only the least unlike of all, as clap suggests one.
fn with_near_value(mut error: Error) -> Error {
    let (Some(ContextValue::String(mistyped)), Some(ContextValue::Strings(known))) =
        (error.get(ContextKind::InvalidValue), error.get(ContextKind::ValidValue))
    else {
        return error;
    };
    match nearest(mistyped, known.iter().map(String::as_str)).map(str::to_owned) {
        Some(near) => drop(error.insert(ContextKind::SuggestedValue, ContextValue::String(near))),
        None => drop(error.remove(ContextKind::SuggestedValue)),
    }
    error
}

/// The command that the words lead to.
fn invoked<'a>(root: &'a Command, words: &[String]) -> &'a Command {
    let mut at = root;
    for word in words.iter().filter(|word| !word.starts_with('-')) {
        match at.find_subcommand(word) {
            Some(inner) => at = inner,
            None if !std::ptr::eq(at, root) => break,
            None => {}
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory as _, Parser as _};

    use super::*;
    use crate::args::Cli;

    fn answer(line: &str) -> String {
        let words: Vec<_> = line.split(' ').map(str::to_owned).collect();
        let all = std::iter::once("headstart".to_owned()).chain(words.iter().cloned());
        let Err(error) = Cli::try_parse_from(all) else { panic!("{line} is no mistake") };
        with_nearest(error, &Cli::command(), &words).to_string()
    }

    #[test]
    fn a_mistyped_word_is_answered_with_the_nearest() {
        for (line, nearest) in [
            ("speculat x", "'speculate'"),
            ("shwo", "'show'"),
            ("rn", "'run'"),
            ("undoo", "'undo'"),
            ("evaulate", "'evaluate'"),
            ("toolx", "'tools'"),
            ("shadow chek", "'check'"),
            ("speculate --modle x", "'--model'"),
            ("speculate --mdoe plan x", "'--mode'"),
            ("chat --bse-url x", "'--base-url'"),
            ("list --lgo x", "'--log'"),
            ("list --jsno", "'--json'"),
            ("shadow run --aply -- ls", "'--apply'"),
            ("--josn list", "'--json'"),
        ] {
            let said = answer(line);
            assert!(said.contains(&format!("exists: {nearest}\n")), "{line}: {said}");
        }
        for line in ["--mode plan", "--model replay:demo"] {
            let option = line.split(' ').next().unwrap();
            let said = answer(line);
            assert!(said.contains(&format!("tip: 'headstart chat' takes '{option}'")), "{line}: {said}");
        }
        for line in ["predict", "list --every", "--every"] {
            assert!(!answer(line).contains("tip:"), "{}", answer(line));
        }
    }
}
