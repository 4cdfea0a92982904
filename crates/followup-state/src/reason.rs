use serde::{Deserialize, Serialize};
use thiserror::Error;

macro_rules! reasons {
    ($($(#[doc = $doc:literal])* $variant:ident, $code:literal, $message:literal;)*) => {
        /// Which rule of the filter refused a text. The codes are a promise: they are what JSON carries.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, Error)]
        #[serde(rename_all = "snake_case")]
        #[non_exhaustive]
        pub enum FilterReason {
            $($(#[doc = $doc])* #[error($message)] $variant,)*
        }

        impl FilterReason {
            /// Every reason, in the order in which the rules are tried.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The code, as in JSON.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $code,)*
                }
            }
        }
    };
}

reasons! {
    /// Nothing but white space.
    Empty, "empty", "the text is empty";
    /// A control character, a line break or a tab inside the text.
    ControlChars, "control_chars", "the text holds a control character or a line break";
    /// A bidirectional control, a zero-width, private-use or otherwise unseen character.
    InvisibleChars, "invisible_chars", "the text holds a character that cannot be seen";
    /// A command or an order that destroys something irrecoverably.
    Destructive, "destructive", "the text is or contains a destructive command";
    /// The word "done" and its like.
    Done, "done", "the text only says that the work is done";
    /// A statement that there is nothing to suggest.
    MetaText, "meta_text", "the text says that there is nothing to suggest";
    /// The whole text in brackets.
    MetaWrapped, "meta_wrapped", "the whole text is in brackets";
    /// An error message of the model server.
    ErrorMessage, "error_message", "the text is an error message";
    /// A label such as `Suggestion:` before the text.
    PrefixedLabel, "prefixed_label", "the text begins with a label";
    /// The whole text in quotes.
    Quoted, "quoted", "the text is in quotes";
    /// Begins with a sign by which a prompt becomes a command or a mention.
    NotACommand, "not_a_command", "the text begins with a sign of a command (/, !, @ or ?)";
    /// One word that is no order, or no word at all.
    TooFewWords, "too_few_words", "the text has too few words";
    /// More than twelve words, or too many characters of a script without spaces.
    TooManyWords, "too_many_words", "the text has too many words";
    /// A hundred characters or more.
    TooLong, "too_long", "the text is too long";
    /// More than one sentence.
    MultipleSentences, "multiple_sentences", "the text has more than one sentence";
    /// A question.
    Question, "question", "the text is a question";
    /// Markdown, HTML or a list mark.
    HasFormatting, "has_formatting", "the text holds formatting";
    /// Praise or thanks.
    Evaluative, "evaluative", "the text is praise or thanks";
    /// The assistant speaks of itself.
    AiVoice, "ai_voice", "the text speaks as the assistant";
}
