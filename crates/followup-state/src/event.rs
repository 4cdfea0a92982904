use serde::{Deserialize, Serialize};

use crate::{Suggestion, Suggestions};

/// The number of a request for a suggestion. A host gives each new request a higher number than the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RequestId(pub u64);

/// The key (or gesture) with which the user took the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum AcceptMethod {
    /// The Tab key.
    Tab,
    /// The Enter key.
    Enter,
    /// The Right arrow key.
    Right,
}

/// What happened, as the host tells the controller.
///
/// An answer ([`Suggested`](Event::Suggested), [`Suppressed`](Event::Suppressed)) is *late* when a newer request is known, or when the
/// user has meanwhile accepted, dismissed, typed or cleared. A late answer is legal and changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Event {
    /// A request for a suggestion was sent. Optional: it makes answers to older requests late at once.
    Requested {
        /// The request.
        request: RequestId,
    },
    /// A request was answered. Suggestions show after the show delay; an answer without any hides what is there at
    /// once.
    Suggested {
        /// The request that is answered.
        request: RequestId,
        /// The answer. In JSON the best one is `suggestion`, the rest are `others`.
        #[serde(flatten, with = "crate::suggestions::fields")]
        suggestions: Option<Suggestions>,
    },
    /// A request ended without a suggestion, because a guard or the filter refused.
    Suppressed {
        /// The request that is answered.
        request: RequestId,
        /// The code of the guard or of the filter's rule.
        reason: String,
    },
    /// The feature was turned on or off. Turning it off hides what is on screen.
    Enabled {
        /// Whether suggestions may show.
        enabled: bool,
    },
    /// The user asked for the text.
    Accept {
        /// With which key.
        method: AcceptMethod,
        /// What to insert when no suggestion is on screen, for example the placeholder text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fallback_text: Option<String>,
        /// Record the acceptance but insert nothing, for a host that has taken the text itself.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        skip_insert: bool,
    },
    /// The user refused the suggestion.
    Dismiss,
    /// A new turn or chat began: forget everything, record nothing.
    Clear,
    /// A key was pressed.
    Keystroke {
        /// Whether the key put text into the line. Such a key dismisses the suggestion; of any other only the time is
        /// recorded. A host that also tells the text sends [`Edited`](Event::Edited) instead.
        typed: bool,
    },
    /// The input line holds this text now. Candidates that begin with it, ignoring case, stay, and the rest of one of
    /// them shows; so does a candidate that differs from it only in blanks around it or a full stop. With an empty
    /// line all candidates are back. A key after which none matches hides them. If it is taken back within
    /// [`Config::slip_ms`](crate::Config::slip_ms) they return; a second such key, or several characters at once,
    /// dismisses them.
    Edited {
        /// The whole line.
        text: String,
    },
    /// Show the next candidate that matches what is typed; after the last one comes the first.
    NextCandidate,
    /// Show the previous candidate that matches what is typed.
    PreviousCandidate,
    /// The time asked for by [`Effect::WakeAt`](crate::Effect::WakeAt) has come. Early and additional wakes are
    /// legal.
    Wake,
    /// The view goes away: forget everything and touch the screen no more.
    Cleanup,
}

impl Event {
    /// An answer to a request: suggestions, best first, or none.
    pub fn suggested(request: RequestId, suggestions: impl IntoIterator<Item = Suggestion>) -> Self {
        Self::Suggested { request, suggestions: Suggestions::new(suggestions) }
    }

    /// An accept that inserts the text and has no fallback.
    pub fn accept(method: AcceptMethod) -> Self {
        Self::Accept { method, fallback_text: None, skip_insert: false }
    }
}
