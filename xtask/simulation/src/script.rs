//! What the user wants, turn by turn, and what the model does about it. The script is drawn once and is the same for
//! every way to work.

use std::time::Duration;

use serde_json::{Value, json};

use crate::inputs::{self, Input};
use crate::random::Random;

/// The sessions of one user.
pub(crate) struct Script {
    pub(crate) turns: Vec<ScriptedTurn>,
}

/// One request of the user.
pub(crate) struct ScriptedTurn {
    /// What the model does if it is asked for this.
    pub(crate) wanted: ScriptedTask,
    /// What the model does if it is asked for something else, because the suggestion was wrong.
    pub(crate) unwanted: ScriptedTask,
    /// The suggestion is what the user wants if this is below the hit rate.
    pub(crate) luck: f64,
    /// The times from the end of the previous turn to Tab, and to a typed prompt.
    pub(crate) reading: Duration,
    pub(crate) thinking: Duration,
    /// How long the query for the suggestion of this turn takes.
    pub(crate) query: Duration,
}

/// The answers to one prompt. The last one makes no calls.
pub(crate) struct ScriptedTask {
    pub(crate) answers: Vec<ScriptedAnswer>,
}

pub(crate) struct ScriptedAnswer {
    pub(crate) first_token: Duration,
    pub(crate) rest: Duration,
    pub(crate) tokens: u64,
    pub(crate) calls: Vec<(&'static str, Value)>,
}

impl Script {
    pub(crate) fn new(seed: u64, turns: usize) -> Self {
        let mut random = Random::new(seed);
        Self { turns: (0..turns).map(|_| ScriptedTurn::draw(&mut random)).collect() }
    }

    /// The prompt of a turn: what the user wants, or something else.
    pub(crate) fn prompt(turn: usize, wanted: bool) -> String {
        let verb = if wanted { "add tests for" } else { "document" };
        format!("{verb} part {turn}")
    }

    /// The number of the turn that a prompt is for, and its task.
    pub(crate) fn task(&self, prompt: &str) -> Option<(usize, &ScriptedTask)> {
        let turn: usize = prompt.rsplit(' ').next()?.parse().ok()?;
        let found = self.turns.get(turn)?;
        Some((turn, if prompt.starts_with("add") { &found.wanted } else { &found.unwanted }))
    }
}

impl ScriptedTurn {
    fn draw(random: &mut Random) -> Self {
        let thinking = seconds(&inputs::THINKING, random);
        Self {
            wanted: ScriptedTask::draw(random),
            unwanted: ScriptedTask::draw(random),
            luck: random.next(),
            reading: seconds(&inputs::READING, random).min(thinking),
            thinking,
            query: seconds(&inputs::SUGGESTION_TIME, random),
        }
    }
}

impl ScriptedTask {
    fn draw(random: &mut Random) -> Self {
        let working = count(&inputs::ANSWERS_WITH_CALLS, random);
        let mut answers: Vec<ScriptedAnswer> = (0..working)
            .map(|_| {
                let calls = count(&inputs::CALLS_OF_AN_ANSWER, random);
                ScriptedAnswer::draw(random, calls)
            })
            .collect();
        answers.push(ScriptedAnswer::draw(random, 0));
        Self { answers }
    }
}

impl ScriptedAnswer {
    fn draw(random: &mut Random, calls: u64) -> Self {
        let time = inputs::ANSWER_TIME.draw(random);
        let rest = time * (1.0 - inputs::FIRST_TOKEN_PART);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count, rounded")]
        let tokens = (rest * inputs::TOKENS_PER_SECOND).round() as u64;
        Self {
            first_token: millis(time * inputs::FIRST_TOKEN_PART),
            rest: millis(rest),
            tokens,
            calls: (0..calls).map(|_| call(random)).collect(),
        }
    }
}

/// A random call. The text of a command says how long the command takes.
fn call(random: &mut Random) -> (&'static str, Value) {
    let kind = random.next();
    let file = format!("src/file-{}.rs", random.below(inputs::FILES));
    let mut command = |input: &Input| seconds(input, random).as_millis();
    if kind < inputs::FILE_READS {
        return ("read_file", json!({ "file_path": file }));
    }
    if kind < inputs::FILE_READS + inputs::FILE_WRITES {
        let content = format!("fn changed_{}() {{}}\n", random.below(1_000_000));
        return ("write_file", json!({ "file_path": file, "content": content }));
    }
    if kind < inputs::FILE_READS + inputs::FILE_WRITES + inputs::READING_COMMANDS {
        let time = command(&inputs::READING_COMMAND_TIME);
        return ("shell", json!({ "command": format!("grep -n takes={time} {file}") }));
    }
    let time = command(&inputs::OTHER_COMMAND_TIME);
    ("shell", json!({ "command": format!("make check takes={time}") }))
}

/// How long a command takes, read from its text.
pub(crate) fn time_of(command: &str) -> Option<Duration> {
    let digits = command.split("takes=").nth(1)?;
    let digits = digits.split(|character: char| !character.is_ascii_digit()).next()?;
    Some(Duration::from_millis(digits.parse().ok()?))
}

fn seconds(input: &Input, random: &mut Random) -> Duration {
    millis(input.draw(random))
}

/// Rounds to whole milliseconds, which is the step of the clock.
fn millis(seconds: f64) -> Duration {
    Duration::from_millis(Duration::from_secs_f64(seconds).as_millis().try_into().unwrap_or(u64::MAX))
}

fn count(input: &Input, random: &mut Random) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count, rounded")]
    let count = input.draw(random).round() as u64;
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_find_their_tasks() {
        let script = Script::new(1, 3);
        for turn in 0..3 {
            for wanted in [true, false] {
                let prompt = Script::prompt(turn, wanted);
                let (found, task) = script.task(&prompt).unwrap();
                let expected = if wanted { &script.turns[turn].wanted } else { &script.turns[turn].unwanted };
                assert_eq!(found, turn);
                assert!(std::ptr::eq(task, expected), "{prompt}");
            }
        }
        assert!(script.task("add tests for part 3").is_none());
    }

    #[test]
    fn a_command_tells_its_time() {
        assert_eq!(time_of("make check takes=1500"), Some(Duration::from_millis(1_500)));
        assert_eq!(time_of("grep -n takes=20 src/file-1.rs"), Some(Duration::from_millis(20)));
        assert_eq!(time_of("ls"), None);
    }
}
