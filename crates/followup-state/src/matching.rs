//! Whether the words that a user sends ask for the same work as a guess. Pure rules and word lists ([`words`]); in
//! doubt the answer is no, because a match hands over work that was not looked at.

mod adds;
mod sign;
mod text;
mod words;

use serde::{Deserialize, Serialize};

use self::sign::Taken;
use self::text::{Soft, same};
use self::words::{GO_ON, YES, is_made_of, meaningful, without_politeness};

/// The most wordings that are kept of a guess besides its own.
pub const MAX_ALSO: usize = 3;
/// The most bytes of such a wording.
pub const MAX_ALSO_BYTES: usize = 200;
/// A longer text (in bytes) is compared only letter by letter.
const MAX_TYPED_BYTES: usize = 2_048;

/// Where a guess comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum GuessKind {
    /// It gives the permission for which the answer asked.
    Permission,
    /// It takes one of the options that the answer offered.
    Choice,
    /// The user did the same at such moments before.
    Habit,
    /// It is the next step of the user's plan.
    Plan,
    /// It is what the trade does next.
    Trade,
}

/// What a model said of a guess besides its text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Meaning {
    /// Where it comes from.
    pub kind: Option<GuessKind>,
    /// The sign of the option that it takes: `2`, `B`, `3 and 5`.
    pub sign: Option<String>,
    /// Other wordings in which the user may ask for the same.
    pub also: Vec<String>,
    /// How likely the model called it, in percent.
    pub chance: Option<u8>,
}

/// What the words of a user are to a guess.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Match {
    /// They ask for the same work.
    Same(MatchRule),
    /// They ask for the same work and for more.
    Extends {
        /// The byte at which the words for the same work end.
        end: usize,
        /// The byte at which what they add begins, without the word that joins it.
        at: usize,
    },
    /// They ask for something else, or it is not certain that they do not.
    No,
}

/// By which rule words ask for the same work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum MatchRule {
    /// The same but for case, punctuation and politeness.
    Equal,
    /// The same but for small words (it, this, the).
    Fillers,
    /// A plain yes to what the answer asked.
    Yes,
    /// The option by its sign, or the options of a set.
    Sign,
    /// The option by its name.
    Name,
    /// Both only say to go on.
    GoOn,
    /// One of the other wordings.
    Also,
}

impl MatchRule {
    /// The code, as in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Equal => "equal",
            Self::Fillers => "fillers",
            Self::Yes => "yes",
            Self::Sign => "sign",
            Self::Name => "name",
            Self::GoOn => "go_on",
            Self::Also => "also",
        }
    }
}

impl Meaning {
    /// Keeps of what a model said what can be used: at most [`MAX_ALSO`] wordings of at most [`MAX_ALSO_BYTES`] bytes
    /// without control characters, and a sign that is short.
    #[must_use]
    pub fn bounded(mut self) -> Self {
        let is_fine = |text: &String, most: usize| {
            !text.trim().is_empty() && text.len() <= most && !text.chars().any(char::is_control)
        };
        self.sign = self.sign.filter(|sign| is_fine(sign, sign::MAX_SIGN_BYTES));
        self.also.retain(|also| is_fine(also, MAX_ALSO_BYTES));
        self.also.truncate(MAX_ALSO);
        self
    }

    /// Whether a text is a whole answer to what was offered or asked: a plain yes, or signs of options.
    pub(crate) fn is_short_answer(&self, text: &str) -> bool {
        let words = text::words(&Soft::new(text).text);
        match self.kind {
            Some(GuessKind::Permission) => is_made_of(&words, YES),
            Some(GuessKind::Choice) => {
                let is_sign =
                    self.sign.as_ref().is_some_and(|sign| same(&words, &text::words(&Soft::new(sign).text)));
                is_sign || sign::is_only_signs(&words)
            }
            _ => false,
        }
    }

    /// What `typed` is to the guess with this text.
    ///
    /// ```
    /// use headstart_followup_state::{GuessKind, Match, MatchRule, Meaning};
    ///
    /// let meaning = Meaning { kind: Some(GuessKind::Choice), sign: Some("2".into()), ..Meaning::default() };
    /// let guess = "option 2, keep the cache";
    /// assert_eq!(meaning.compare(guess, "the second one"), Match::Same(MatchRule::Sign));
    /// assert_eq!(meaning.compare(guess, "2, and rename the setting"), Match::Extends { end: 3, at: 7 });
    /// assert_eq!(meaning.compare(guess, "2, but rename the setting"), Match::No);
    /// ```
    pub fn compare(&self, guess: &str, typed: &str) -> Match {
        if guess.trim() == typed.trim() && !typed.trim().is_empty() {
            return Match::Same(MatchRule::Equal);
        }
        if MAX_TYPED_BYTES < typed.len() || MAX_TYPED_BYTES < guess.len() || has_control(typed) {
            return Match::No;
        }
        let prepared = Prepared::new(self, guess);
        if let Some(rule) = prepared.same_work(&text::words(&Soft::new(typed).text)) {
            return Match::Same(rule);
        }
        adds::added_at(&prepared, typed).map_or(Match::No, |(end, at)| Match::Extends { end, at })
    }

    /// Whether `typed` is the guess but for case, blanks, punctuation and politeness.
    pub fn is_equal(guess: &str, typed: &str) -> bool {
        matches!(Self::default().compare(guess, typed), Match::Same(MatchRule::Equal))
    }
}

/// A guess that is ready to be compared.
struct Prepared {
    /// The words of the guess.
    words: String,
    /// Its other wordings, as words.
    also: Vec<String>,
    /// The option that it takes.
    taken: Option<Taken>,
    /// Whether it gives the permission and nothing else.
    permits: bool,
}

impl Prepared {
    fn new(meaning: &Meaning, guess: &str) -> Self {
        let soft = Soft::new(guess).text;
        let words = text::words(&soft);
        let bare = without_politeness(&words);
        let is_choice = meaning.kind == Some(GuessKind::Choice);
        let is_permission = meaning.kind == Some(GuessKind::Permission);
        let is_more = adds::is_more(bare, is_choice) || adds::adds_to_a_yes(&soft);
        let sign = meaning.sign.as_deref().filter(|_| is_choice && !is_more);
        let taken = sign.and_then(|sign| Taken::new(&soft, &Soft::new(sign).text));
        let taken = taken.filter(|taken| !adds::adds_to_a_sign(&soft, taken));
        let permits = is_permission && !is_more;
        let also = meaning.also.iter().filter(|also| also.len() <= MAX_ALSO_BYTES).take(MAX_ALSO);
        let also = also.map(|also| text::words(&Soft::new(also).text)).filter(|also| {
            let is_yes = is_made_of(also, YES) && !is_made_of(also, GO_ON);
            let is_sign = sign::is_only_signs(also);
            // A wording that asks for less than the guess, or for another option, is the model's mistake.
            adds::is_more(without_politeness(also), is_choice) == is_more
                && (!is_yes || permits)
                && (!is_sign || taken.as_ref().is_some_and(|taken| taken.is_taken_by(also)))
        });
        let also = also.collect();
        Self { words, also, taken, permits }
    }

    /// The rule by which these words ask for the same work.
    fn same_work(&self, typed: &str) -> Option<MatchRule> {
        if typed.is_empty() {
            return None;
        }
        let (bare, guess) = (without_politeness(typed), without_politeness(&self.words));
        if same(typed, &self.words) || same(bare, guess) {
            return Some(MatchRule::Equal);
        }
        if self.permits && is_made_of(typed, YES) && !adds::has_unspaced_turn(typed) {
            return Some(MatchRule::Yes);
        }
        if self.taken.as_ref().is_some_and(|taken| taken.is_taken_by(bare)) {
            return Some(MatchRule::Sign);
        }
        if has_same_meaning(bare, guess) {
            return Some(MatchRule::Fillers);
        }
        if self.name().is_some_and(|name| has_same_meaning(bare, name)) {
            return Some(MatchRule::Name);
        }
        if is_made_of(guess, GO_ON) && is_made_of(bare, GO_ON) {
            return Some(MatchRule::GoOn);
        }
        let is_also = |also: &String| same(also, typed) || has_same_meaning(without_politeness(also), bare);
        self.also.iter().any(is_also).then_some(MatchRule::Also)
    }

    fn name(&self) -> Option<&str> {
        self.taken.as_ref()?.name.as_deref()
    }
}

/// Whether two texts are the same but for small words, and are more than these.
fn has_same_meaning(one: &str, other: &str) -> bool {
    let bare = |text: &str| meaningful(text).collect::<Vec<_>>().join(" ");
    let (one, other) = (bare(one), bare(other));
    !one.is_empty() && same(&one, &other)
}

/// Whether a text holds a control character besides the ends of its lines and tabs.
fn has_control(text: &str) -> bool {
    text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t'))
}
