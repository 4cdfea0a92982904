use headstart_forked_query::ToolCall;
use headstart_git_ahead::GitChange;
use headstart_overlay_fs::{ChangeSet, Choice, LeftOut};

use crate::Finished;

/// Work whose changes need the user's yes, with everything that they have to be shown first.
#[derive(Debug, Clone, PartialEq)]
pub struct ApprovalRequest {
    work: Box<ApprovedWork>,
    not_kept: Vec<LeftOut>,
    /// The work with what can be kept of that, if anything can.
    kept: Option<Box<ApprovedWork>>,
    failures: Vec<String>,
    answer: Option<String>,
    pending_call: Option<ToolCall>,
}

/// Distinguishes the work that the user was shown from any other.
#[derive(Debug, Clone, PartialEq)]
struct ApprovedWork {
    id: String,
    changes: ChangeSet,
    git: Option<GitChange>,
}

/// What the user has answered about work that is to be accepted; by default nothing.
///
/// A yes exists only as the answer to a question: it comes from an [`ApprovalRequest`], and counts only for the changes
/// in it. An accept still judges everything again by the rules in force then.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AcceptAnswers {
    approved: Option<Box<ApprovedWork>>,
    keeps: bool,
    choices: Vec<Choice>,
}

impl ApprovalRequest {
    pub(crate) fn of(finished: &Finished) -> Self {
        Self {
            work: Box::new(ApprovedWork::of(finished)),
            not_kept: finished.not_kept.clone(),
            kept: (!finished.keepable.is_empty()).then(|| Box::new(ApprovedWork::of(&finished.with_kept()))),
            failures: finished.failures(),
            answer: finished.transcript.answer_line(),
            pending_call: finished.pending_call().cloned(),
        }
    }

    /// What a yes applies.
    pub fn changes(&self) -> &ChangeSet {
        &self.work.changes
    }

    /// What a yes does to the git repository, together with the files.
    pub fn git(&self) -> Option<&GitChange> {
        self.work.git.as_ref()
    }

    /// What the work wrote or removed and a yes does not bring.
    pub fn not_kept(&self) -> &[LeftOut] {
        &self.not_kept
    }

    /// Whether [`approve_and_keep`](Self::approve_and_keep) brings some of that.
    pub fn can_keep(&self) -> bool {
        self.kept.is_some()
    }

    /// What [`approve_and_keep`](Self::approve_and_keep) brings besides [`changes`](Self::changes).
    pub fn kept_besides(&self) -> ChangeSet {
        let kept = self.kept.iter().flat_map(|kept| &kept.changes.changes);
        let besides = kept.filter(|change| !self.work.changes.changes.contains(change));
        ChangeSet { changes: besides.cloned().collect(), reads: Vec::new() }
    }

    /// What did not end well in the work ([`Finished::failures`]).
    pub fn failures(&self) -> &[String] {
        &self.failures
    }

    /// The first line of the model's last answer.
    pub fn answer(&self) -> Option<&str> {
        self.answer.as_deref()
    }

    /// The call at which the work stopped, if it stopped at one. The user is asked about it separately, after these
    /// changes.
    pub fn pending_call(&self) -> Option<&ToolCall> {
        self.pending_call.as_ref()
    }

    /// The answer of a user who was shown [`changes`](Self::changes) and [`git`](Self::git), and said yes.
    pub fn approve(&self) -> AcceptAnswers {
        AcceptAnswers { approved: Some(self.work.clone()), ..AcceptAnswers::default() }
    }

    /// As [`approve`](Self::approve), and the user was shown [`not_kept`](Self::not_kept) and wants what can be kept of
    /// it too.
    pub fn approve_and_keep(&self) -> AcceptAnswers {
        let approved = Some(self.kept.as_ref().unwrap_or(&self.work).clone());
        AcceptAnswers { approved, keeps: true, ..AcceptAnswers::default() }
    }
}

impl From<Vec<Choice>> for AcceptAnswers {
    fn from(choices: Vec<Choice>) -> Self {
        Self { choices, ..Self::default() }
    }
}

impl AcceptAnswers {
    /// Adds the user's choices for the conflicts of the previous accept.
    #[must_use]
    pub fn with_choices(self, choices: Vec<Choice>) -> Self {
        Self { choices, ..self }
    }

    /// Whether what can be kept is brought too.
    pub(crate) fn keeps(&self) -> bool {
        self.keeps
    }

    pub(crate) fn choices(&self) -> &[Choice] {
        &self.choices
    }

    pub(crate) fn approves(&self, finished: &Finished) -> bool {
        self.approved.as_ref().is_some_and(|work| **work == ApprovedWork::of(finished))
    }
}

impl ApprovedWork {
    fn of(finished: &Finished) -> Self {
        // What was read meanwhile is not shown, so a yes is not about it.
        let changes = ChangeSet { changes: finished.changes.changes.clone(), reads: Vec::new() };
        Self { id: finished.id.clone(), changes, git: finished.git.clone() }
    }
}
