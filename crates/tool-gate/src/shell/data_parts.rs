//! The parts of a command's text that are data for its programs, and that no shell reads as commands.

use super::read;
use super::script::{
    Arithmetic, ArithmeticToken, Command, CommandKind, Piece, RedirectKind, Script, Span, Word,
};

/// Programs that may run what they are given as a command line, or as commands behind their options.
const RUN_WHAT_THEY_GET: [&str; 37] = [
    ".", "ash", "bash", "builtin", "busybox", "chroot", "command", "dash", "doas", "entr", "env", "eval",
    "exec", "fd", "find", "flock", "ionice", "ksh", "nice", "nohup", "npx", "parallel", "script", "setsid",
    "sh", "source", "ssh", "stdbuf", "strace", "su", "sudo", "taskset", "time", "timeout", "trap", "xargs",
    "zsh",
];
/// Interpreters, whose text may hand a command line to a shell: in quotes.
const INTERPRETERS: [&str; 12] =
    ["awk", "bun", "deno", "gawk", "lua", "mawk", "node", "perl", "php", "python", "python3", "ruby"];

/// A part of a text that is data for a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DataPart {
    pub(crate) span: Span,
    /// Whether the program is an interpreter, so that a text in quotes may be a command line.
    pub(crate) is_code: bool,
}

/// These parts; none of a text that is not understood.
pub(crate) fn data_parts(text: &str) -> Vec<DataPart> {
    let Ok(reading) = read::read(text) else { return Vec::new() };
    let mut search = Search { documents: &reading.documents, found: Vec::new() };
    search.script(&reading.script);
    search.found
}

struct Search<'a> {
    documents: &'a [Word],
    found: Vec<DataPart>,
}

impl Search<'_> {
    fn script(&mut self, script: &Script) {
        for item in &script.items {
            for pipeline in std::iter::once(&item.first).chain(item.rest.iter().map(|(_, next)| next)) {
                // What one program prints, the next one may run.
                let runs = pipeline.stages.iter().any(|stage| is_simple_and(stage, runs_what_it_gets));
                pipeline.stages.iter().for_each(|stage| self.command(stage, runs));
            }
        }
    }

    fn command(&mut self, command: &Command, runs: bool) {
        let name = name_of(command);
        let is_data = !runs && name.as_deref().is_some_and(|name| !runs_what_it_gets(name));
        let is_code = name.as_deref().is_some_and(is_interpreter);
        for redirect in &command.redirects {
            match &redirect.kind {
                RedirectKind::Text(word) => self.word(word, is_data, is_code),
                RedirectKind::Document(number) => {
                    if let Some(document) = self.documents.get(*number) {
                        self.word(document, is_data, is_code);
                    }
                }
                RedirectKind::Read(word) | RedirectKind::Write(word) => self.word(word, false, false),
                RedirectKind::Duplicate | RedirectKind::DuplicateInput | RedirectKind::Other => {}
            }
        }
        match &command.kind {
            CommandKind::Simple { assignments, words } => {
                for (at, word) in words.iter().enumerate() {
                    self.word(word, is_data && 0 < at, is_code);
                }
                self.words(assignments.iter().flat_map(|set| &set.values));
            }
            CommandKind::Subshell(script) | CommandKind::Group(script) => self.script(script),
            CommandKind::If { branches, otherwise } => {
                let branches = branches.iter().flat_map(|(test, then)| [test, then]);
                self.scripts(branches.chain(otherwise));
            }
            CommandKind::While { condition, body } => self.scripts([condition, body]),
            CommandKind::Counted { start, condition, step, body } => {
                for part in [start, condition, step] {
                    self.arithmetic(part);
                }
                self.script(body);
            }
            CommandKind::For { words, body, .. } => {
                self.words(words);
                self.script(body);
            }
            CommandKind::Case { subject, arms } => {
                self.words(arms.iter().flat_map(|(patterns, _)| patterns).chain([subject]));
                self.scripts(arms.iter().map(|(_, script)| script));
            }
            CommandKind::Test(words) => self.words(words),
            CommandKind::Arithmetic(arithmetic) => self.arithmetic(arithmetic),
        }
    }

    fn scripts<'s>(&mut self, scripts: impl IntoIterator<Item = &'s Script>) {
        for script in scripts {
            self.script(script);
        }
    }

    /// Words that are no data of a program; what they substitute may hold some.
    fn words<'s>(&mut self, words: impl IntoIterator<Item = &'s Word>) {
        for word in words {
            self.word(word, false, false);
        }
    }

    fn word(&mut self, word: &Word, is_data: bool, is_code: bool) {
        if is_data && !word.expands() {
            self.found.push(DataPart { span: word.span, is_code });
        }
        word.pieces.iter().for_each(|piece| self.piece(piece));
    }

    fn piece(&mut self, piece: &Piece) {
        match piece {
            Piece::Substitution { script, .. } | Piece::ProcessInput(script) => self.script(script),
            Piece::Arithmetic(arithmetic) => self.arithmetic(arithmetic),
            Piece::Literal { .. } | Piece::Glob(_) | Piece::Tilde | Piece::Braces | Piece::Parameter(_) => {}
        }
    }

    fn arithmetic(&mut self, arithmetic: &Arithmetic) {
        for token in &arithmetic.tokens {
            if let ArithmeticToken::Value(piece) = token {
                self.piece(piece);
            }
        }
    }
}

fn is_simple_and(command: &Command, holds: fn(&str) -> bool) -> bool {
    name_of(command).is_some_and(|name| holds(&name))
}

/// The name of the program of a simple command, without its folder.
fn name_of(command: &Command) -> Option<String> {
    let CommandKind::Simple { words, .. } = &command.kind else { return None };
    let name = String::from_utf8(words.first()?.literal()?).ok()?;
    Some(name.rsplit('/').next().unwrap_or_default().to_owned())
}

fn runs_what_it_gets(name: &str) -> bool {
    RUN_WHAT_THEY_GET.binary_search(&name).is_ok()
}

fn is_interpreter(name: &str) -> bool {
    INTERPRETERS.contains(&name.trim_end_matches(|letter: char| letter == '.' || letter.is_ascii_digit()))
        || INTERPRETERS.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_shell_reads_is_data() {
        assert!(RUN_WHAT_THEY_GET.is_sorted());
        let parts = |text: &'static str| -> Vec<&str> {
            data_parts(text).iter().map(|part| &text[part.span.0..part.span.1]).collect()
        };
        assert_eq!(parts("cat > a <<'E'\nmount x\nE\n"), ["mount x\n"]);
        assert_eq!(parts("echo 'a; mount b' && bash -c 'mount c'"), ["'a; mount b'"]);
        assert_eq!(parts("bash <<'E'\nmount x\nE\n"), [""; 0]);
        assert_eq!(parts("echo 'mount x' | sh"), [""; 0]);
        assert_eq!(parts("cat <<E\n$(mount x)\nE\n"), ["x"]);
        assert_eq!(parts("for f in a; do grep '(open' $(echo 'x;y'); done"), ["'(open'", "'x;y'"]);
        assert!(data_parts("python3.12 -c 'x; open(1)'").iter().all(|part| part.is_code));
    }
}
