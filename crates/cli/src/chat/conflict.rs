//! What to do about files that the user changed while work on them ran ahead.

use std::time::Instant;

use headstart_overlay_fs::{
    Change, ChangeKind, ChangeSet, Choice, Conflict, ConflictKind, Keep, WorkspacePath,
};
use headstart_speculation::Acceptance;

use super::taking::{Asked, Taken};
use super::turn::Working;
use super::{Chat, show};
use crate::error::CliError;
use crate::output::{conflict_line, one_line};
use crate::terminal::{Answer, Consent, Style};

/// Lines of each side that are shown unasked.
const SIDE_ROWS: usize = 8;

/// Files about which the user is asked, one after the other, and what they have said so far.
pub(super) struct Conflicts {
    all: Vec<Conflict>,
    choices: Vec<Choice>,
}

impl Chat {
    /// Nothing was written, and nothing is before the last answer.
    pub(super) fn ask_about_conflicts(
        &mut self,
        taken: Taken,
        conflicts: Vec<Conflict>,
    ) -> Result<(), CliError> {
        self.face.end_line()?;
        let changed = taken.speculation.changes().changes.len();
        let title =
            format!("Not written: {} changed since it ran ahead", show::counted(conflicts.len(), "file"));
        self.face.say(&title, Style::Strong)?;
        for conflict in &conflicts {
            self.face.say(&format!("  {}", conflict_line(conflict)), Style::Removed)?;
        }
        if let Some(fits @ 1..) = changed.checked_sub(conflicts.len()) {
            self.face.say(&format!("  {} as it was", show::counted(fits, "other file")), Style::Dim)?;
        }
        let tokens = taken.speculation.cost().spent_tokens();
        let price =
            if tokens < 1_000 { String::new() } else { format!(", for about {}k tokens", tokens / 1_000) };
        let most = if 1 < conflicts.len() { "; M and T answer for all that is left" } else { "" };
        self.face.say(&format!("Esc writes nothing, a runs the prompt anew{price}{most}"), Style::Dim)?;
        self.ask_about_next(taken, Conflicts { all: conflicts, choices: Vec::new() })
    }

    /// The next file without a word, or the accept once there is none.
    fn ask_about_next(&mut self, taken: Taken, conflicts: Conflicts) -> Result<(), CliError> {
        let Some(conflict) = conflicts.next().cloned() else {
            self.accept_with_choices(taken, conflicts.choices);
            return Ok(());
        };
        let is_read = conflict.kind == ConflictKind::StaleRead;
        if !is_read {
            self.say_sides(&taken.speculation.changes(), &conflict.path, SIDE_ROWS)?;
        }
        self.ask_again(taken, conflicts, &conflict);
        Ok(())
    }

    fn ask_again(&mut self, taken: Taken, conflicts: Conflicts, conflict: &Conflict) {
        let (question, now) = (format!("{}:", one_line(&conflict.path.to_string())), Instant::now());
        self.working = Some(Working::Asked { taken, asked: Box::new(Asked::Conflicts(conflicts)) });
        self.ask(match conflict.kind {
            ConflictKind::StaleRead => Consent::about_stale(&question, now),
            _ => Consent::about_conflict(&question, conflict.markers, now),
        });
    }

    pub(super) fn on_choice(
        &mut self,
        taken: Taken,
        mut conflicts: Conflicts,
        answer: Answer,
    ) -> Result<(), CliError> {
        let Some(conflict) = conflicts.next().cloned() else { return Ok(()) };
        let (keep, all) = match answer {
            Answer::Mine => (Keep::Yours, false),
            Answer::AllMine => (Keep::Yours, true),
            Answer::Theirs => (Keep::Work, false),
            Answer::AllTheirs => (Keep::Work, true),
            Answer::Both => (Keep::Markers, false),
            Answer::Again => {
                self.face.say("  again", Style::Dim)?;
                return self.on_not_taken(taken, Ok(Ok(Acceptance::Conflict(conflicts.all))));
            }
            _ => {
                self.say_sides(&taken.speculation.changes(), &conflict.path, usize::MAX)?;
                self.ask_again(taken, conflicts, &conflict);
                return Ok(());
            }
        };
        let word = match keep {
            Keep::Yours => "mine",
            Keep::Work => "theirs",
            Keep::Markers => "both, with markers",
        };
        self.face.say(&format!("  {}: {word}", one_line(&conflict.path.to_string())), Style::Dim)?;
        conflicts.choose(keep, all);
        self.ask_about_next(taken, conflicts)
    }

    /// What each side made of a file.
    fn say_sides(&mut self, changes: &ChangeSet, path: &WorkspacePath, room: usize) -> Result<(), CliError> {
        let Some(change) = changes.changes.iter().find(|change| change.path == *path) else { return Ok(()) };
        let yours = self.session.read(path).map(|content| Change {
            kind: ChangeKind::Write { content: content.into(), executable: false, moved_from: None },
            ..change.clone()
        });
        for (whose, change) in [("yours", yours), ("the work's", Some(change.clone()))] {
            self.face.say(&format!("  {whose}:"), Style::Plain)?;
            let Some(change) = change else {
                self.face.say("  (no file)", Style::Dim)?;
                continue;
            };
            let diff = ChangeSet { changes: vec![change], reads: Vec::new() }.diff();
            let is_of_a_line = |line: &&str| {
                !["diff ", "index ", "--- ", "+++ ", "old mode", "new "]
                    .iter()
                    .any(|start| line.starts_with(start))
            };
            self.say_lines(&diff.lines().filter(is_of_a_line).collect::<Vec<_>>(), room)?;
        }
        Ok(())
    }
}

impl Conflicts {
    fn next(&self) -> Option<&Conflict> {
        self.all.get(self.choices.len())
    }

    /// A word on the next file, or on all that are left of which one can be had: what was only read is asked about.
    fn choose(&mut self, keep: Keep, all: bool) {
        while let Some(conflict) = self.next().cloned() {
            self.choices.push(Choice { conflict, keep });
            if !all || self.next().is_some_and(|next| next.kind == ConflictKind::StaleRead) {
                return;
            }
        }
    }
}
