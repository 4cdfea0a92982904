//! A chat as lines for a screen reader or a slow connection. Nothing that was printed is drawn again, and each line
//! begins with a word for who says it.

use headstart_machine::error::CliError;
use headstart_machine::output::{print, printable};
use headstart_terminal::{Consent, Diff, LineEditor, LiveRow, SpokenAnswer};

use super::show::StyledLine;

/// The last announcement of each thing that a screen would show all the time.
#[derive(Default)]
pub(crate) struct ScreenReader {
    answer: SpokenAnswer,
    /// Whether a line of the current answer was printed.
    answers: bool,
    suggestion: String,
    question: String,
    status: String,
    calls: Vec<String>,
}

impl ScreenReader {
    /// Prints a remark.
    pub(super) fn say(text: &str) -> Result<(), CliError> {
        print(&(printable(text.trim_start_matches('\n')) + "\n"))
    }

    pub(super) fn say_diff(diff: &Diff, room: usize, hint: &str) -> Result<(), CliError> {
        diff.spoken(room, hint).iter().try_for_each(|line| Self::say(line))
    }

    /// Prints lines about a call: the first one with the call's name, those below it unchanged.
    pub(super) fn say_of_turn(lines: &[StyledLine]) -> Result<(), CliError> {
        for (line, _) in lines {
            if line.starts_with(' ') {
                Self::say(line)?;
            } else {
                Self::say(&format!("tool: {}", in_words(line)))?;
            }
        }
        Ok(())
    }

    pub(super) fn stream(&mut self, piece: &str) -> Result<(), CliError> {
        let lines = self.answer.push(piece);
        self.say_answer(&lines)
    }

    pub(super) fn end_answer(&mut self) -> Result<(), CliError> {
        let lines = self.answer.end();
        self.say_answer(&lines)?;
        self.answers = false;
        Ok(())
    }

    fn say_answer(&mut self, lines: &[String]) -> Result<(), CliError> {
        for line in lines {
            if line.is_empty() && !self.answers {
                continue;
            }
            let label = if std::mem::replace(&mut self.answers, true) { "" } else { "model: " };
            print(&format!("{label}{line}\n"))?;
        }
        Ok(())
    }

    /// Announces what has changed in what a screen would show: a question, calls that begin, the stage of the work
    /// ahead, a suggestion.
    pub(super) fn draw(
        &mut self,
        editor: &LineEditor,
        question: Option<&Consent>,
        live: &[LiveRow],
        status: Option<&str>,
    ) -> Result<(), CliError> {
        let begun: Vec<_> =
            live.iter().filter_map(|row| row.text.strip_prefix("● ")).map(str::to_owned).collect();
        for call in begun.iter().filter(|call| !self.calls.contains(call)) {
            Self::say(&format!("tool: runs {call}"))?;
        }
        self.calls = begun;
        let question = question.map(Consent::spoken).unwrap_or_default();
        if question != self.question {
            if !question.is_empty() {
                // One beep calls a user who is looking elsewhere.
                print("\x07")?;
                Self::say(&format!("question: {question}"))?;
            }
            self.question = question;
        }
        let status = status.filter(|status| !status.starts_with("working")).unwrap_or_default();
        let stage = stage(status);
        if stage != self.status {
            if !stage.is_empty() {
                let words = in_words(status.strip_prefix("ahead ").unwrap_or(status));
                let label = if status.starts_with("ahead ") { "ahead: " } else { "" };
                Self::say(&format!("{label}{words}"))?;
            }
            self.status = stage;
        }
        let suggestion = editor.ghost().map(|ghost| ghost.rest.clone()).unwrap_or_default();
        if suggestion != self.suggestion {
            if !suggestion.is_empty() {
                Self::say(&format!("suggestion: {suggestion}. Tab and Enter takes it."))?;
            }
            self.suggestion = suggestion;
        }
        Ok(())
    }
}

/// The stage in a status, without the figures that change all the time.
fn stage(status: &str) -> String {
    let head = status.split([';', '·', ':']).next().unwrap_or_default();
    head.chars().filter(|c| !c.is_ascii_digit()).collect::<String>().trim().to_owned()
}

/// The line with words in place of the signs that the screen uses.
fn in_words(line: &str) -> String {
    let words =
        [("✓ ", "done: "), ("✗ ", "failed: "), ("– ", "did not finish: "), ("! ", ""), ("● ", "runs ")];
    let known = words.iter().find_map(|(sign, word)| Some((line.strip_prefix(sign)?, word)));
    let (rest, word) = known.unwrap_or((line, &""));
    format!("{word}{}", rest.replace(" · ", ", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_has_words_for_signs_and_comes_once_a_stage() {
        assert_eq!(
            in_words("✓ ready · 2 files +14 -3 · saves 38 s"),
            "done: ready, 2 files +14 -3, saves 38 s"
        );
        assert_eq!(in_words("✗ shell cargo test  exit 1 · 3 s"), "failed: shell cargo test  exit 1, 3 s");
        assert_eq!(stage("ahead looking · 3 reads"), stage("ahead looking · 12 reads · cargo test"));
        assert_ne!(stage("ahead looking · 3 reads"), stage("ahead ✓ ready · 2 files"));
        assert_eq!(stage("the provider is busy, 4 s left"), stage("the provider is busy, 3 s left"));
    }
}
