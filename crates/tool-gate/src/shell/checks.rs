//! Checks of the gate's parts for arbitrary texts, for [`fuzzing`](crate::fuzzing).

use super::cross_check::check_plain;
use super::read::{Reading, read};
use super::script::{
    Arithmetic, ArithmeticToken, Assignment, Command, CommandKind, Operator, Piece, RedirectKind, Script,
    Span, Word,
};
use super::table;

/// Whether a sed script only edits its stream.
pub(crate) fn sed(script: &[u8]) -> bool {
    table::check_sed(script)
}

/// Whether an awk program only reads its input and prints.
pub(crate) fn awk(program: &[u8]) -> bool {
    table::check_awk(program)
}

/// Reads a text twice, checks every span, and compares both readings if it is plain.
pub(crate) fn parse(text: &str) {
    match (read(text), read(text)) {
        (Err(first), Err(second)) => {
            assert_eq!(format!("{first:?}"), format!("{second:?}"));
            assert!(first.at <= text.len());
        }
        (Ok(first), Ok(second)) => {
            assert_eq!(format!("{first:?}"), format!("{second:?}"));
            Spans { length: text.len() }.reading(&first);
            check_plain(text, &first);
            if text.len() < 4 * 1024 {
                let longer = read(&format!("{text}\n# a comment\n")).expect("a comment changes nothing");
                assert_eq!(longer.command_starts, first.command_starts);
                assert_eq!(longer.redirect_count, first.redirect_count);
                assert_eq!(longer.substitution_count, first.substitution_count);
            }
        }
        _ => panic!("read once, and refused once: {text:?}"),
    }
}

struct Spans {
    length: usize,
}

impl Spans {
    fn inside(&self, (start, end): Span) {
        assert!(start <= end && end <= self.length, "{start}..{end} of {}", self.length);
    }

    fn reading(&self, reading: &Reading) {
        self.script(&reading.script);
        self.words(&reading.documents);
        assert!(reading.command_starts.iter().all(|start| *start < self.length));
    }

    fn script(&self, script: &Script) {
        for item in &script.items {
            let rest = item.rest.iter().map(|(_, pipeline)| pipeline);
            let stages = std::iter::once(&item.first).chain(rest).flat_map(|pipeline| &pipeline.stages);
            stages.for_each(|command| self.command(command));
        }
    }

    fn command(&self, command: &Command) {
        self.inside(command.span);
        for redirect in &command.redirects {
            self.inside(redirect.span);
            match &redirect.kind {
                RedirectKind::Read(word) | RedirectKind::Write(word) | RedirectKind::Text(word) => {
                    self.word(word);
                }
                _ => {}
            }
        }
        match &command.kind {
            CommandKind::Simple { assignments, words } => {
                for assignment in assignments {
                    self.assignment(assignment);
                }
                self.words(words);
            }
            CommandKind::Subshell(script) | CommandKind::Group(script) => self.script(script),
            CommandKind::If { branches, otherwise } => {
                branches
                    .iter()
                    .flat_map(|(left, right)| [left, right])
                    .for_each(|script| self.script(script));
                if let Some(otherwise) = otherwise {
                    self.script(otherwise);
                }
            }
            CommandKind::While { condition, body } => {
                self.script(condition);
                self.script(body);
            }
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
                self.word(subject);
                for (patterns, body) in arms {
                    self.words(patterns);
                    self.script(body);
                }
            }
            CommandKind::Test(words) => self.words(words),
            CommandKind::Arithmetic(arithmetic) => self.arithmetic(arithmetic),
        }
    }

    fn assignment(&self, assignment: &Assignment) {
        self.inside(assignment.span);
        self.words(&assignment.values);
    }

    fn words(&self, words: &[Word]) {
        for word in words {
            self.word(word);
        }
    }

    fn word(&self, word: &Word) {
        self.inside(word.span);
        for piece in &word.pieces {
            self.piece(piece);
        }
    }

    fn piece(&self, piece: &Piece) {
        match piece {
            Piece::Parameter(parameter) => {
                self.inside(parameter.span);
                match &parameter.operator {
                    Operator::Default(word) | Operator::CutEnd(word) | Operator::Other(word) => {
                        self.word(word);
                    }
                    Operator::None | Operator::Length | Operator::Places => {}
                }
            }
            Piece::Substitution { script, .. } | Piece::ProcessInput(script) => self.script(script),
            Piece::Arithmetic(arithmetic) => self.arithmetic(arithmetic),
            Piece::Literal { .. } | Piece::Glob(_) | Piece::Tilde | Piece::Braces => {}
        }
    }

    fn arithmetic(&self, arithmetic: &Arithmetic) {
        self.inside(arithmetic.span);
        for token in &arithmetic.tokens {
            if let ArithmeticToken::Value(piece) = token {
                self.piece(piece);
            }
        }
    }
}
