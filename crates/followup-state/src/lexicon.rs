//! The filter's word lists, one [`Language`] per language. Only languages are listed whose entries a maintainer can
//! check; texts in other languages are judged by their shape alone.
//!
//! Entries are compared with folded text: lower case, straight quotes, single spaces. A phrase matches whole words,
//! save in scripts without spaces.

mod chinese;
pub(crate) mod english;
mod european;
mod japanese;
mod korean;

pub(crate) use english::{
    ABBREVIATIONS, COMMIT_TYPES, ERROR_MESSAGES, HTML_TAGS, SENTENCE_STARTERS, TITLES, TOOLS,
};

/// Words or phrases separated by bars, which is compact to read here and in a wasm bundle.
#[derive(Clone, Copy)]
#[cfg_attr(test, derive(serde::Serialize))]
pub(crate) struct List(pub(crate) &'static str);

impl List {
    pub(crate) fn iter(self) -> impl Iterator<Item = &'static str> {
        self.0.split('|').filter(|entry| !entry.is_empty())
    }

    pub(crate) fn any(self, test: impl Fn(&str) -> bool) -> bool {
        self.iter().any(test)
    }

    pub(crate) fn contains(self, word: &str) -> bool {
        self.any(|entry| entry == word)
    }
}

/// An order in a language other than English: one of the verbs and one of the objects, side by side.
#[cfg_attr(test, derive(serde::Serialize))]
pub(crate) struct Destroy {
    /// Verbs, or their stems.
    pub(crate) verbs: List,
    /// Objects with their determiner where the language needs one.
    pub(crate) objects: List,
    /// Words that are an object only where nothing follows ("everything").
    pub(crate) alone: List,
    /// Small words that may stand between the two, and behind the object.
    pub(crate) between: List,
}

/// What the filter knows of one language. Every list may be empty.
#[cfg_attr(test, derive(serde::Serialize))]
#[cfg_attr(test, serde(rename_all = "camelCase"))]
pub(crate) struct Language {
    /// Whole texts that say the work is done.
    pub(crate) done: List,
    /// Whole texts that say there is nothing to suggest.
    pub(crate) nothing: List,
    /// Beginnings of texts that say there is nothing to suggest.
    pub(crate) nothing_start: List,
    /// Phrases within texts that say there is nothing to suggest.
    pub(crate) nothing_within: List,
    /// Words before a colon that label the text.
    pub(crate) labels: List,
    /// Single words that are an order or an answer. Needed for Latin script only.
    pub(crate) one_word: List,
    /// Words that may stand before the real beginning ("ok, …").
    pub(crate) lead_ins: List,
    /// Words that may stand before a question word ("you", "now").
    pub(crate) topics: List,
    /// Beginnings of questions that are written without a mark.
    pub(crate) ask_start: List,
    /// Longer phrases that begin like `ask_start` and are no questions.
    pub(crate) ask_start_except: List,
    /// Ends of questions, unless the text is an enquiry (see `enquire_start`).
    pub(crate) ask_end: List,
    /// Ends of questions, whatever comes before.
    pub(crate) ask_end_always: List,
    /// Longer phrases that end like `ask_end` and are no questions.
    pub(crate) ask_end_except: List,
    /// Verbs that turn an embedded question into an order ("check whether…"), where verbs come first.
    pub(crate) enquire_start: List,
    /// Ends that mark an order, where verbs come last.
    pub(crate) order_end: List,
    /// Clauses that praise.
    pub(crate) praise: List,
    /// Beginnings of clauses that praise or thank.
    pub(crate) praise_start: List,
    /// Ends of clauses that praise or thank.
    pub(crate) praise_end: List,
    /// Words that begin an order, which is kept behind praise ("looks good, commit it").
    pub(crate) orders: List,
    /// Parts that turn a clause of praise into an order ("make it …").
    pub(crate) order_marks: List,
    /// Beginnings in which the assistant speaks of itself.
    pub(crate) voice: List,
    /// Longer phrases that begin like `voice` and are what a user says.
    pub(crate) voice_except: List,
    /// Ends in which the assistant speaks of itself.
    pub(crate) voice_end: List,
    /// Longer phrases that end like `voice_end` and are what a user says.
    pub(crate) voice_end_except: List,
    /// Phrases that ask for destruction, wherever they stand.
    pub(crate) destructive: List,
    /// Orders that destroy, as verb and object.
    pub(crate) destroy: &'static [Destroy],
}

/// A language without any entries, to be filled in with `..BLANK`.
const BLANK: Language = Language {
    done: List(""),
    nothing: List(""),
    nothing_start: List(""),
    nothing_within: List(""),
    labels: List(""),
    one_word: List(""),
    lead_ins: List(""),
    topics: List(""),
    ask_start: List(""),
    ask_start_except: List(""),
    ask_end: List(""),
    ask_end_always: List(""),
    ask_end_except: List(""),
    enquire_start: List(""),
    order_end: List(""),
    praise: List(""),
    praise_start: List(""),
    praise_end: List(""),
    orders: List(""),
    order_marks: List(""),
    voice: List(""),
    voice_except: List(""),
    voice_end: List(""),
    voice_end_except: List(""),
    destructive: List(""),
    destroy: &[],
};

/// Every language the filter knows.
pub(crate) const LANGUAGES: &[&Language] = &[
    &english::ENGLISH,
    &chinese::CHINESE,
    &japanese::JAPANESE,
    &korean::KOREAN,
    &european::GERMAN,
    &european::FRENCH,
    &european::SPANISH,
    &european::PORTUGUESE,
    &european::RUSSIAN,
];

/// Whether an entry of one list, in any language, passes a test.
pub(crate) fn any(list: fn(&Language) -> List, test: impl Fn(&str) -> bool) -> bool {
    LANGUAGES.iter().any(|language| list(language).any(&test))
}

/// The text without "ok, now, …" at its beginning.
pub(crate) fn without_lead_ins(mut text: &str) -> &str {
    use crate::filter::after_phrase;
    while let Some(rest) = LANGUAGES
        .iter()
        .flat_map(|language| language.lead_ins.iter())
        .find_map(|word| after_phrase(text, word))
    {
        let rest = rest.trim_start_matches(|c: char| !c.is_alphanumeric());
        if rest.is_empty() {
            break;
        }
        text = rest;
    }
    text
}
