//! Splits a line into the simple commands that it consists of.

use super::CrossCheck;
use super::read;
use super::script::{Command, CommandKind, Piece, Redirect, RedirectKind, Script, Word};

/// Output may go here without changing anything.
const NOWHERE: &[u8] = b"/dev/null";

/// The simple commands of a line.
#[derive(Default)]
pub(crate) struct SimpleCommands {
    /// The words of each, as its program gets them.
    pub(crate) words: Vec<Vec<Vec<u8>>>,
    /// Whether one of them reads what another one prints.
    pub(crate) is_piped: bool,
}

/// The simple commands of a line.
///
/// `None` if a word is not known exactly (a variable, a wildcard, a substitution), if the line does more than run
/// these commands one after the other (an assignment, a redirection to or from a file, a condition, a loop, a job in
/// the background), or if the second reader disagrees.
pub(crate) fn simple_commands(text: &str) -> Option<SimpleCommands> {
    let reading = read::read(text).ok()?;
    let mut commands = SimpleCommands::default();
    add_script(&reading.script, &mut commands)?;
    CrossCheck::default().agrees(text, &reading).ok()?;
    Some(commands)
}

fn add_script(script: &Script, commands: &mut SimpleCommands) -> Option<()> {
    for item in &script.items {
        if item.background {
            return None;
        }
        for pipeline in std::iter::once(&item.first).chain(item.rest.iter().map(|(_, pipeline)| pipeline)) {
            commands.is_piped |= 1 < pipeline.stages.len();
            pipeline.stages.iter().try_for_each(|stage| add(stage, commands))?;
        }
    }
    Some(())
}

fn add(command: &Command, commands: &mut SimpleCommands) -> Option<()> {
    if !command.redirects.iter().all(changes_nothing) {
        return None;
    }
    match &command.kind {
        CommandKind::Simple { assignments, words } if assignments.is_empty() && !words.is_empty() => {
            commands.words.push(words.iter().map(plain).collect::<Option<_>>()?);
            Some(())
        }
        CommandKind::Subshell(script) | CommandKind::Group(script) => add_script(script, commands),
        _ => None,
    }
}

/// The bytes of a word that certainly becomes one argument.
fn plain(word: &Word) -> Option<Vec<u8>> {
    let is_plain = |piece: &Piece| match piece {
        // Braces without quotes may make several words.
        Piece::Literal { bytes, quoted } => *quoted || !bytes.contains(&b'{'),
        _ => false,
    };
    word.pieces.iter().all(is_plain).then(|| word.literal())?
}

fn changes_nothing(redirect: &Redirect) -> bool {
    match &redirect.kind {
        RedirectKind::Duplicate | RedirectKind::DuplicateInput => true,
        RedirectKind::Write(word) | RedirectKind::Read(word) => plain(word).as_deref() == Some(NOWHERE),
        RedirectKind::Other | RedirectKind::Text(_) | RedirectKind::Document(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Option<Vec<String>> {
        let commands = simple_commands(text)?;
        Some(commands.words.iter().map(|words| String::from_utf8(words.join(&b'|')).unwrap()).collect())
    }

    #[test]
    fn a_line_is_its_simple_commands() {
        let cases: [(&str, &[&str]); 7] = [
            ("cargo test", &["cargo|test"]),
            ("ls; rm -rf x && echo 'a b' | wc -l", &["ls", "rm|-rf|x", "echo|a b", "wc|-l"]),
            ("c\"arg\"o te\\st 2>&1 >/dev/null", &["cargo|test"]),
            ("(cd src; ls) || { make; }", &["cd|src", "ls", "make"]),
            ("! ls", &["ls"]),
            ("echo a\nrm b", &["echo|a", "rm|b"]),
            ("echo '{a,b}'", &["echo|{a,b}"]),
        ];
        for (text, expected) in cases {
            assert_eq!(shown(text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn what_is_not_known_to_the_byte_is_none() {
        for text in [
            "",
            "cargo $x",
            "cargo $(x)",
            "cargo `x`",
            "cargo *.rs",
            "cargo ~",
            "cargo {test,x}",
            "X=1 cargo test",
            "cargo test > out",
            "cargo test < in",
            "cargo test <<< x",
            "cargo test &",
            "if true; then ls; fi",
            "for a in b; do ls; done",
            "ls <(ls)",
            "f() { ls; }; f",
            "cargo 'test",
            "echo $((1))",
            "cargo test >| x",
            "cat <<E\nx\nE",
            "[[ a ]]",
            "X=1",
        ] {
            assert_eq!(shown(text), None, "{text}");
        }
    }
}
