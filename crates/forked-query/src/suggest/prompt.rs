//! What the model is told when it is asked for the user's next prompt.

use std::borrow::Cow;

use serde_json::{Value, json};

/// Describes what a guess is and where it comes from.
macro_rules! guide {
    () => {
        r#"[A question from the program around this conversation. It is not from the user, and no work is to be done on it: call no tool.]

Guess the message that the user of this coding session types next.

Take the guess from these places, the first that gives one:
1. The end of your last answer. If it names words to type ("say X to go on", "run /X"), those words are the guess.
2. A choice you offered: the option that this user would most likely pick, named so that it cannot be mistaken.
3. A permission you asked for: a short yes, or the action itself in the imperative.
4. The user's own plan, from the first request to the last message: the step that is still open.
5. The habit of the trade: after new code its tests, after finished and checked work a commit, after a commit a push.

The measure is recognition. The user must look at it and think: that is what I was about to type. What you would like them to do, or find useful, does not count. A step that is precise ("run the parser tests") is better than one that fits everything ("go on").

Give no guess at all, an empty text, when
- something just failed, you misunderstood the user, or they are displeased;
- the next step depends on something only they know;
- everything they asked for is finished and nothing points further.
No guess is a good answer; most guesses that are not certain are wrong.

Write the guess
- in the language that the user writes in, and the way they write: their wording, their case, their length;
- as one instruction of two to twelve words (or up to thirty characters where the language has no spaces), one sentence, no line break, no formatting, no quotes around it;
- in the user's voice. Never in yours ("I will", "Let me", "Here is"), never as a question, never as thanks or praise, never with an idea that the conversation has not raised.

Examples, as what went before → the guess:
- You fixed the off-by-one error the user reported, and have not run anything since → run the tests
- The user asked for an endpoint and its documentation; the endpoint is there → now write the documentation
- You showed two designs, a queue and a lock, and recommended the queue → go with the queue
- You asked whether to delete the old migration → yes, delete it
- Tests are green after the last change of a list that is done → commit this
- 用户要求先改解析器再改文档,解析器已改好 → 接着改文档
- El usuario pidió corregir el fallo y subirlo; está corregido → súbelo
- Your last command ended with an error that you have not explained →
- You answered a question about how something works →"#
    };
}

/// The question for the best guess.
pub(super) const PROMPT: &str = concat!(
    guide!(),
    "\n\n",
    r#"Answer with a JSON object of the form {"suggestion": "the guess"}, or {"suggestion": ""} for no guess, and with nothing else."#
);

/// The question for this many guesses; for one it is exactly [`PROMPT`].
pub(super) fn prompt(count: usize) -> Cow<'static, str> {
    if count <= 1 {
        return Cow::Borrowed(PROMPT);
    }
    let number = if count == 2 { "two" } else { "three" };
    Cow::Owned(format!(
        r#"{}

Give up to {number} guesses that ask for different things, the likeliest first. One more is worth giving only if it would be a good guess by itself; two ways to say the same are one guess.

Answer with a JSON object of the form {{"suggestions": ["the likeliest guess", "the next one"]}}, or {{"suggestions": []}} for no guess, and with nothing else."#,
        guide!()
    ))
}

/// The most tokens of an answer. The text is short; the rest is for models that think although they were told not to.
pub(super) const MAX_OUTPUT_TOKENS: u32 = 1_024;

/// The field of the answer if several guesses are asked for.
pub const SEVERAL: &str = "suggestions";

pub(super) fn schema(count: usize) -> Value {
    if 1 < count {
        // The question states the limit, because some providers do not accept one on a list.
        return json!({
            "type": "object",
            "properties": {
                SEVERAL: {
                    "type": "array",
                    "items": { "type": "string" },
                    "description": "What the user types next, the likeliest first, or nothing for no guess"
                }
            },
            "required": [SEVERAL],
            "additionalProperties": false
        });
    }
    json!({
        "type": "object",
        "properties": {
            "suggestion": {
                "type": "string",
                "description": "What the user types next, or an empty text for no guess"
            }
        },
        "required": ["suggestion"],
        "additionalProperties": false
    })
}

/// Whether a request for an answer of this form asks for several guesses.
pub fn asks_for_several(schema: &Value) -> bool {
    schema.pointer("/properties").is_some_and(|fields| fields.get(SEVERAL).is_some())
}
