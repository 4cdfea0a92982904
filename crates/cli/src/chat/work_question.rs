//! Questions about accepted work: whether it may be written, and what to do if the user has changed the same files
//! meanwhile.

use std::time::Instant;

use headstart_agent::{Subject, UserAnswer as Reply};
use headstart_git_ahead::GitChange;
use headstart_machine::conversation::words;
use headstart_machine::error::CliError;
use headstart_machine::output::{call_title, conflict_line, not_kept_offer, one_line, shortened};
use headstart_overlay_fs::{
    Change, ChangeKind, ChangeSet, Choice, Conflict, ConflictKind, Keep, WorkspacePath,
};
use headstart_speculation::ApprovalRequest;
use headstart_terminal::{Consent, ConsentAnswer, Diff, DiffForm, Passage, Style};

use super::Chat;
use super::definitions::DefinitionFinder;
use super::question::{Question, about_work, changes_nothing, of_several};

/// The rows that the question itself, its files and the prompt above it take.
const ROWS_BESIDE_THE_DIFF: usize = 8;
/// The least rows of a diff that are shown, however low the terminal is.
const MIN_DIFF_ROWS: usize = 6;
/// The remark where something is left out.
const D_SHOWS_ALL: &str = ": d shows all";
/// The most characters of the model's answer that a question repeats.
const MAX_ANSWER: usize = 200;
const NO_FILE: &str = "  (no file)";
/// The rows of each side that are shown without being asked for.
const SIDE_ROWS: usize = 8;

impl Chat {
    /// Asks once about all of the changes, in a mode that asks before edits. Nothing is written before the user agrees.
    pub(super) fn ask_about_changes(
        &mut self,
        question: Question,
        asks: &ApprovalRequest,
    ) -> Result<Question, CliError> {
        let changes = asks.changes();
        let counts = if changes_nothing(asks) {
            "no file that git knows".to_owned()
        } else {
            words::counts_with(&changes.summary(), asks.git())
        };
        self.display.say(&format!("Take what ran ahead?  {counts}"), Style::Strong)?;
        let (diff, is_one) = (self.diff(changes), changes.changes.len() == 1);
        let place = self.place_of_change(Some(&diff).filter(|_| is_one && asks.git().is_none()))?;
        let place = place.map(|place| format!("   {place}")).unwrap_or_default();
        let names = words::changes(&changes.summary(), &[], asks.git());
        self.display.say(&format!("{names}{place}"), Style::Plain)?;
        let said = asks.failures().len() + usize::from(asks.answer().is_some());
        let beside = ROWS_BESIDE_THE_DIFF + said + changes.changes.len();
        let room = self.display.rows().saturating_sub(beside);
        if self.settings.screen.diff != DiffForm::Names {
            // The row above has named a single file.
            let diff = if is_one { diff.unnamed() } else { diff };
            self.display.say_diff(&diff, room.max(MIN_DIFF_ROWS), D_SHOWS_ALL)?;
        }
        for failure in asks.failures() {
            self.display.say(&format!("failed: {}", one_line(failure)), Style::Removed)?;
        }
        if let Some(line) = not_kept_offer(asks.not_kept(), asks.can_keep().then_some("k keeps them")) {
            self.display.say(&line, Style::Removed)?;
        }
        if let Some(line) = asks.answer() {
            self.display.say(&format!("It says: {}", shortened(&one_line(line), MAX_ANSWER)), Style::Dim)?;
        }
        if let Some(call) = asks.pending_call() {
            self.display.say(&format!("After that it asks: {}", call_title(call)), Style::Dim)?;
        }
        Ok(question.with_consent(about_work(asks)))
    }

    /// Shows the conflicts. Nothing was written, and nothing will be before the last answer.
    pub(super) fn say_conflicts(
        &mut self,
        conflicts: &[Conflict],
        changes: &ChangeSet,
        tokens: Option<u64>,
    ) -> Result<(), CliError> {
        let since = match (tokens, conflicts.len()) {
            (Some(_), _) => "it ran ahead",
            (None, 1) => "the turn changed it",
            (None, _) => "the turn changed them",
        };
        let title = format!("Not written: {} changed since {since}", words::counted(conflicts.len(), "file"));
        self.display.say(&title, Style::Strong)?;
        for conflict in conflicts {
            self.display.say(&format!("  {}", conflict_line(conflict)), Style::Removed)?;
        }
        if let Some(fits @ 1..) = changes.changes.len().checked_sub(conflicts.len()) {
            self.display
                .say(&format!("  {} without a conflict", words::counted(fits, "other file")), Style::Dim)?;
        }
        let most = if 1 < conflicts.len() { "; M and T answer for all that is left" } else { "" };
        let Some(tokens) = tokens else {
            return self.display.say(&format!("Esc writes nothing, and it stays staged{most}"), Style::Dim);
        };
        let price =
            if tokens < 1_000 { String::new() } else { format!(", for about {}k tokens", tokens / 1_000) };
        self.display.say(&format!("Esc writes nothing, a runs the prompt anew{price}{most}"), Style::Dim)
    }

    /// Asks about the next file that has no answer yet, and replies once all files have one.
    pub(super) fn ask_about_next(&mut self, question: Question) -> Result<(), CliError> {
        let Some(conflict) = question.next_conflict().cloned() else {
            self.reply(question.id, Reply::Choices(question.choices));
            return Ok(());
        };
        if conflict.kind != ConflictKind::StaleRead {
            self.say_sides(&question, &conflict.path, SIDE_ROWS)?;
        }
        self.question = Some(question.with_consent_to(&conflict));
        Ok(())
    }

    pub(super) fn on_choice(
        &mut self,
        mut question: Question,
        answer: ConsentAnswer,
    ) -> Result<(), CliError> {
        let Some(conflict) = question.next_conflict().cloned() else { return Ok(()) };
        let (keep, all) = match answer {
            ConsentAnswer::Mine => (Keep::Yours, false),
            ConsentAnswer::AllMine => (Keep::Yours, true),
            ConsentAnswer::Theirs => (Keep::Work, false),
            ConsentAnswer::AllTheirs => (Keep::Work, true),
            ConsentAnswer::Both => (Keep::Markers, false),
            ConsentAnswer::Again => return self.rerun_prompt(question.id),
            _ => {
                self.show_sides(&question, &conflict.path)?;
                self.question = Some(question.with_consent_to(&conflict));
                return Ok(());
            }
        };
        let word = match keep {
            Keep::Yours => "mine",
            Keep::Work => "theirs",
            Keep::Markers => "both, with markers",
        };
        self.display.say(&format!("  {}: {word}", one_line(&conflict.path.to_string())), Style::Dim)?;
        question.choose(keep, all);
        self.ask_about_next(question)
    }

    /// Asks about commits that can be kept beside the user's own. Nothing was written, and nothing of the user's is
    /// changed.
    pub(super) fn ask_about_commits(
        &mut self,
        question: Question,
        work: &str,
        conflicts: &[Conflict],
        git: Option<&GitChange>,
    ) -> Result<Question, CliError> {
        self.display.say("Not written: git was used since it ran ahead", Style::Strong)?;
        for conflict in conflicts {
            self.display.say(&format!("  {}", conflict_line(conflict)), Style::Removed)?;
        }
        let commits = self.parts.commits(work, git, conflicts);
        // If it is unknown where the commits would go, keeping them is not offered.
        let commits = commits.and_then(|commits| Some((commits.offer().ok().flatten()?, commits)));
        let commits = commits.map(|(offer, commits)| (commits, offer));
        if let Some((_, offer)) = &commits {
            self.display.say(&format!("Kept beside yours: {}", offer.merge_advice()), Style::Dim)?;
        }
        let else_what = if self.has_staged() {
            "Esc writes nothing, and it stays staged"
        } else {
            "Esc writes nothing, a runs the prompt anew"
        };
        self.display.say(else_what, Style::Dim)?;
        let consent = match &commits {
            Some((commits, offer)) => {
                let question = format!("keep its {} as {}?", commits.counted(), offer.name);
                Consent::about_commits(&question, Instant::now())
            }
            None => Consent::about_stale("its commits:", Instant::now()),
        };
        Ok(Question { commits, ..question.with_consent(consent) })
    }

    pub(super) fn on_answer_about_commits(
        &mut self,
        question: &Question,
        answer: ConsentAnswer,
    ) -> Result<(), CliError> {
        let (ConsentAnswer::Yes, Some((commits, _))) = (answer, &question.commits) else {
            return self.rerun_prompt(question.id);
        };
        match commits.keep() {
            Ok(Some(offer)) => {
                self.display.say(&format!("  yes: kept as {}", offer.name), Style::Dim)?;
                self.display.say(&offer.merge_advice(), Style::Plain)?;
                self.reply(question.id, Reply::Settled);
                Ok(())
            }
            Ok(None) => self.decline(question.id),
            // The question is shown again with the next update.
            Err(error) => {
                self.display.say(&format!("not kept: {error}"), Style::Removed)?;
                let view = self.agent.view();
                self.on_question(view.question.as_ref())
            }
        }
    }

    /// Shows what each side made of a file.
    fn say_sides(&mut self, question: &Question, path: &WorkspacePath, room: usize) -> Result<(), CliError> {
        for (whose, diff) in self.sides(question, path) {
            self.display.say(&format!("  {whose}"), Style::Plain)?;
            match diff {
                Some(diff) => self.display.say_diff(&diff, room, D_SHOWS_ALL)?,
                None => self.display.say(NO_FILE, Style::Dim)?,
            }
        }
        Ok(())
    }

    /// Shows both sides in full, on a separate screen if there is one.
    fn show_sides(&mut self, question: &Question, path: &WorkspacePath) -> Result<(), CliError> {
        if !self.display.has_keys() {
            return self.say_sides(question, path, usize::MAX);
        }
        let passages = self.sides(question, path).into_iter().flat_map(|(whose, diff)| {
            let diff = diff.map_or_else(|| Passage::Text(NO_FILE.to_owned(), Style::Dim), Passage::Diff);
            [Passage::Text(whose.to_owned(), Style::Strong), diff]
        });
        self.display.read(&one_line(&path.to_string()), passages.collect(), false)
    }

    /// What work ahead would change, if it would change anything.
    pub(super) fn changes_ahead(&self) -> Option<(ChangeSet, Option<GitChange>)> {
        let files = self.agent.staged()?;
        let git = self.agent.staged_git().filter(|git| !git.is_empty());
        (!files.is_empty() || git.is_some()).then_some((files, git))
    }

    /// Shows changes in full, on a separate screen if there is one. What is done with git is at the top, what `k` would
    /// add at the end.
    pub(super) fn show_changes(
        &mut self,
        title: &str,
        changes: &ChangeSet,
        git: Option<&GitChange>,
        besides: &ChangeSet,
    ) -> Result<(), CliError> {
        let git = git.filter(|git| !git.is_empty()).map(words::git_in_full);
        let would_add = "k would add:";
        if !self.display.has_keys() {
            git.map_or(Ok(()), |git| self.display.say(&git, Style::Strong))?;
            self.say_diff(changes, usize::MAX, "")?;
            if besides.is_empty() {
                return Ok(());
            }
            self.display.say(would_add, Style::Strong)?;
            return self.say_diff(besides, usize::MAX, "");
        }
        let strong = |text: String| Passage::Text(text, Style::Strong);
        let diff = |changes: &ChangeSet| (!changes.is_empty()).then(|| Passage::Diff(self.diff(changes)));
        let besides = diff(besides).map(|besides| [strong(would_add.to_owned()), besides]);
        let written = git.map(strong).into_iter().chain(diff(changes));
        self.display.read(title, written.chain(besides.into_iter().flatten()).collect(), false)
    }

    /// Shows what a yes would write, and what `k` would add to it.
    pub(super) fn show_asked(&mut self, asks: &ApprovalRequest) -> Result<(), CliError> {
        self.show_changes("what would be written", asks.changes(), asks.git(), &asks.kept_besides())
    }

    /// The diffs of both sides of a file, each with the name of its side.
    fn sides(&self, question: &Question, path: &WorkspacePath) -> Vec<(&'static str, Option<Diff>)> {
        let Subject::Conflicts { changes, .. } = &*question.about else { return Vec::new() };
        let Some(change) = changes.changes.iter().find(|change| change.path == *path) else {
            return Vec::new();
        };
        let yours = self.parts.read(path).map(|content| Change {
            kind: ChangeKind::Write { content: content.into(), executable: false, moved_from: None },
            mode: None,
            ..change.clone()
        });
        let diff = |change| self.diff(&ChangeSet { changes: vec![change], reads: Vec::new() }).unnamed();
        vec![("yours:", yours.map(diff)), ("the work's:", Some(diff(change.clone())))]
    }

    /// Changes in the form that the user has chosen, with where they begin.
    pub(super) fn diff(&self, changes: &ChangeSet) -> Diff {
        let mut definitions = DefinitionFinder::new(changes);
        let diff = Diff::parse(&changes.diff()).with_definitions(|path, lines| definitions.find(path, lines));
        diff.shown_as(self.settings.screen.diff)
    }

    /// Shows as many lines of the diff as there is room for, and how many more there are.
    pub(super) fn say_diff(&mut self, changes: &ChangeSet, room: usize, hint: &str) -> Result<(), CliError> {
        if self.display.has_person() {
            return self.display.say_diff(&self.diff(changes), room, hint);
        }
        changes.diff().lines().try_for_each(|line| self.display.say(line, Style::Plain))
    }
}

impl Question {
    /// The question about one of the conflicts.
    fn with_consent_to(self, conflict: &Conflict) -> Self {
        let asks = format!("{}{}:", one_line(&conflict.path.to_string()), of_several(self.place()));
        let runs_anew = !matches!(&*self.about, Subject::Conflicts { tokens: None, .. });
        let now = Instant::now();
        let consent = match conflict.kind {
            ConflictKind::StaleRead => Consent::about_stale(&asks, now),
            _ => Consent::about_conflict(&asks, conflict.markers, runs_anew, now),
        };
        self.with_consent(consent)
    }

    /// The first of several conflicts that has no answer yet.
    fn next_conflict(&self) -> Option<&Conflict> {
        let Subject::Conflicts { conflicts, .. } = &*self.about else { return None };
        conflicts.get(self.choices.len())
    }

    /// The place of the next file among several.
    fn place(&self) -> Option<(usize, usize)> {
        let Subject::Conflicts { conflicts, .. } = &*self.about else { return None };
        (1 < conflicts.len()).then_some((self.choices.len() + 1, conflicts.len()))
    }

    /// Answers for the next file, or with `all` for all remaining ones up to a file that was only read, about which the
    /// user is asked separately.
    fn choose(&mut self, keep: Keep, all: bool) {
        while let Some(conflict) = self.next_conflict().cloned() {
            self.choices.push(Choice { conflict, keep });
            if !all || self.next_conflict().is_some_and(|next| next.kind == ConflictKind::StaleRead) {
                return;
            }
        }
    }
}
