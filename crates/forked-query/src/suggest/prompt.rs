//! What the model is told when it is asked for the user's next prompt.

use serde_json::{Value, json};

use headstart_followup_state::GuessKind;

/// Describes what a guess is, where it comes from and how likely it is.
macro_rules! guide {
    () => {
        r#"[A question from the program around this conversation. It is not from the user, and no work is to be done on it: call no tool.]

Guess the message that the user of this coding session types next, and say how likely it is that it asks for the same work as your guess, whatever its words.

Look in this order:
1. The end of your last answer. If it names words to type ("say X to go on"), those words are the guess. If it asked a permission, the guess is a yes with what is permitted (kind permission). If it offered options, the guess is the one that this user would take, its sign first, then its name (kind choice). To several questions the user often answers in one message.
2. What this user did at such moments before in this conversation: the same short order after each fix, the next item of a list, the words with which they go on where an answer broke off, the check or the push behind every change (kind habit). Only what the conversation shows is a habit.
3. The plan that the user has given: its next open step (kind plan).
4. What the trade does next: tests behind new code, a commit behind checked work, a push behind a commit (kind trade).

Chance in percent: an option or a permission you offered 50 to 85; a habit seen at least twice 40 to 70; an open step of a plan 30 to 60; the trade alone 10 to 25; where the user will look at the result for themselves first 5 to 15; where they are displeased, something just failed, or the next step needs what only they know 5. You end with a finding and this user tends to ask back: 10 to 20.

Write as this user writes. The last five messages that they typed (the user's messages above, without notes in brackets and results of tools) are samples of their hand: language, case, length, politeness.
- One order of two to twelve words (thirty characters where the language has no spaces); an option or a yes may be one word. One sentence, no line break, no formatting, no quotes around it.
- In the user's voice, never in yours ("I will", "Let me"); no question, no thanks, no praise, no idea that the conversation has not raised. A precise step is better than one that fits everything. Ways to say one act ("at the end", "after 12") are one guess.

Examples, as what went before → text (kind, chance):
- You offered 1, a queue, and 2, a lock, and recommended the lock → 2, the lock (choice, 75)
- You asked whether to delete the old migration → yes, delete it (permission, 80)
- The user had you run the linter after each of three fixes; you made the fourth → run the linter (habit, 65)
- 用户要求先改解析器再改文档,解析器已改好 → 接着改文档 (plan, 55)
- All is done and checked, nobody has spoken of a commit → commit this (trade, 20)

sign: the sign of the option, as "2" or "3 and 5"; else "". also: up to three other short ways in which this user may type the same, for the first guess only; they ask for neither more nor less."#
    };
}

/// The form of the answer, for a model that is not held to a schema.
macro_rules! form {
    () => {
        r#"{"guesses": [{"text": "2, the lock", "chance": 75, "kind": "choice", "sign": "2", "also": ["the lock"]}]}"#
    };
}

/// The question for the best guess.
pub(super) const PROMPT: &str = concat!(
    guide!(),
    "\n\nGive one guess. Answer with a JSON object of the form ",
    form!(),
    r#", or {"guesses": []} if there is nothing to guess from, and with nothing else."#
);

const TWO: &str = concat!(
    guide!(),
    "\n\nGive up to two guesses that ask for different work, the likeliest first. Answer with a JSON object of the form ",
    form!(),
    r#", or {"guesses": []} if there is nothing to guess from, and with nothing else."#
);

const THREE: &str = concat!(
    guide!(),
    "\n\nGive up to three guesses that ask for different work, the likeliest first. Answer with a JSON object of the form ",
    form!(),
    r#", or {"guesses": []} if there is nothing to guess from, and with nothing else."#
);

/// The question for a model on this machine, which reads a hundred tokens a second or fewer.
pub(super) const LOCAL: &str = r#"[A question from the program around this conversation. It is not from the user: call no tool.]

What does the user type next? Look first at the end of your last answer (an option or a permission that you offered), then at what the user did at such moments before, then at the next open step of their plan, then at what the trade does next.

One order of two to twelve words, in the user's own voice and language. Not what they have just sent, no question, no thanks. Answer with a JSON object and with nothing else, and begin with its brace: {"guesses": [{"text": "commit this", "chance": 40}]}, the chance in percent, or {"guesses": []} if there is nothing to guess from."#;

/// The most tokens of its answer.
pub(super) const LOCAL_OUTPUT_TOKENS: u32 = 300;

/// The form of its answer.
pub(super) fn local_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            GUESSES: {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": { "text": { "type": "string" }, "chance": { "type": "integer" } },
                    "required": ["text", "chance"],
                    "additionalProperties": false
                }
            }
        },
        "required": [GUESSES],
        "additionalProperties": false
    })
}

/// The question for this many guesses; for one it is exactly [`PROMPT`].
pub(super) fn prompt(count: usize) -> &'static str {
    match count {
        0 | 1 => PROMPT,
        2 => TWO,
        _ => THREE,
    }
}

/// The most tokens of an answer. The text is short; the rest is for models that think although they were told not to.
pub(super) const MAX_OUTPUT_TOKENS: u32 = 1_024;

/// The field of the answer that holds the guesses.
pub const GUESSES: &str = "guesses";

/// The names of the kinds, as in the answer.
const KINDS: [GuessKind; 5] =
    [GuessKind::Permission, GuessKind::Choice, GuessKind::Habit, GuessKind::Plan, GuessKind::Trade];

/// The form of an answer. Every field is required, because some providers hold a model to a schema only then.
pub(super) fn schema(count: usize) -> Value {
    let text = |what: &str| json!({ "type": "string", "description": what });
    // The question states how many, because some providers accept no limit on a list.
    let guesses = match count {
        0 | 1 => "One guess, or nothing",
        _ => "The guesses, the likeliest first, or nothing",
    };
    json!({
        "type": "object",
        "properties": {
            GUESSES: {
                "type": "array",
                "description": guesses,
                "items": {
                    "type": "object",
                    "properties": {
                        "text": text("What the user types next"),
                        "chance": { "type": "integer", "description": "In percent" },
                        "kind": { "type": "string", "enum": KINDS },
                        "sign": text("The sign of the option, or an empty text"),
                        "also": { "type": "array", "items": { "type": "string" } }
                    },
                    "required": ["text", "chance", "kind", "sign", "also"],
                    "additionalProperties": false
                }
            }
        },
        "required": [GUESSES],
        "additionalProperties": false
    })
}
