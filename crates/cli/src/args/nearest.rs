//! The nearest command or option to a mistyped one. clap names any that are alike, at times without the nearest.

use clap::Command;
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};

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
    if let Some(nearest) = nearest(&mistyped, &known) {
        let value = if found == ContextKind::InvalidSubcommand {
            ContextValue::Strings(vec![nearest.to_owned()])
        } else {
            ContextValue::String(nearest.to_owned())
        };
        error.insert(suggested, value);
    }
    error
}

/// The error without a value that is only the least unlike of all, as clap suggests one.
fn with_near_value(mut error: Error) -> Error {
    let (Some(ContextValue::String(mistyped)), Some(ContextValue::Strings(known))) =
        (error.get(ContextKind::InvalidValue), error.get(ContextKind::ValidValue))
    else {
        return error;
    };
    match nearest(mistyped, known).map(str::to_owned) {
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

/// The known word that needs the fewest edits, if they are few; of several the one that is as long.
fn nearest<'a>(mistyped: &str, known: &'a [String]) -> Option<&'a str> {
    let length = mistyped.trim_start_matches('-').chars().count();
    let most = (length / 3).max(1);
    let edits = known.iter().map(|word| (edits(mistyped, word), word.len().abs_diff(mistyped.len()), word));
    let (_, _, word) = edits.filter(|(edits, _, _)| *edits <= most).min()?;
    Some(word)
}

/// How many letters are to be inserted, removed, replaced or exchanged with their neighbours.
fn edits(from: &str, to: &str) -> usize {
    let (from, to): (Vec<char>, Vec<char>) = (from.chars().collect(), to.chars().collect());
    let mut rows = vec![(0..=to.len()).collect::<Vec<_>>()];
    for (row, letter) in from.iter().enumerate() {
        let mut next = vec![row + 1];
        for (column, other) in to.iter().enumerate() {
            let replaced = rows[row][column] + usize::from(letter != other);
            let mut least = replaced.min(next[column] + 1).min(rows[row][column + 1] + 1);
            if 0 < row && 0 < column && *letter == to[column - 1] && from[row - 1] == *other {
                least = least.min(rows[row - 1][column - 1] + 1);
            }
            next.push(least);
        }
        rows.push(next);
    }
    rows[from.len()][to.len()]
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
        for line in ["predict", "list --every"] {
            assert!(!answer(line).contains("tip:"), "{}", answer(line));
        }
    }
}
