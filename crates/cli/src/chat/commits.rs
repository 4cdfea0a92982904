//! Commits made ahead that cannot be taken, because their user used git meanwhile.

use std::time::Instant;

use headstart_budget::ledger::Outcome;
use headstart_overlay_fs::Conflict;
use headstart_speculation::Acceptance;

use super::Chat;
use super::taking::{Asked, Taken};
use super::turn::Working;
use crate::error::CliError;
use crate::offered::{Commits, Way};
use crate::output::conflict_line;
use crate::terminal::{Answer, Consent, Style};

/// Work that is not written, and the place where its commits could be kept.
pub(super) struct Unwritten {
    conflicts: Vec<Conflict>,
    commits: Option<(Commits, Way)>,
}

impl Chat {
    /// Nothing was written, and nothing of the user's is touched: the commits can be kept beside theirs.
    pub(super) fn ask_about_commits(
        &mut self,
        taken: Taken,
        conflicts: Vec<Conflict>,
    ) -> Result<(), CliError> {
        self.face.end_line()?;
        self.face.say("Not written: git was used since it ran ahead", Style::Strong)?;
        for conflict in &conflicts {
            self.face.say(&format!("  {}", conflict_line(conflict)), Style::Removed)?;
        }
        let git = taken.speculation.git();
        let commits = self.session.commits(taken.speculation.id(), git.as_ref(), &conflicts);
        // Where nobody can tell what would become of them, there is nothing to offer.
        let commits = commits.and_then(|commits| Some((commits.way().ok().flatten()?, commits)));
        let commits = commits.map(|(way, commits)| (commits, way));
        if let Some((_, way)) = &commits {
            self.face.say(&format!("Kept beside yours: {}", way.told()), Style::Dim)?;
        }
        self.face.say("Esc writes nothing, a runs the prompt anew", Style::Dim)?;
        let consent = match &commits {
            Some((commits, way)) => {
                let question = format!("keep its {} as {}?", commits.counted(), way.name);
                Consent::about_commits(&question, Instant::now())
            }
            None => Consent::about_stale("its commits:", Instant::now()),
        };
        let asked = Box::new(Asked::Commits(Box::new(Unwritten { conflicts, commits })));
        self.working = Some(Working::Asked { taken, asked });
        self.ask(consent);
        Ok(())
    }

    pub(super) fn on_answer_about_commits(
        &mut self,
        taken: Taken,
        unwritten: Unwritten,
        answer: Answer,
    ) -> Result<(), CliError> {
        let (Answer::Yes, Some((commits, _))) = (answer, &unwritten.commits) else {
            self.face.say("  again", Style::Dim)?;
            return self.on_not_taken(taken, Ok(Ok(Acceptance::Conflict(unwritten.conflicts))));
        };
        match commits.keep() {
            Ok(Some(way)) => {
                self.face.say(&format!("  yes: kept as {}", way.name), Style::Dim)?;
                self.face.say(&way.told(), Style::Plain)?;
                self.drop_unwritten(taken, Outcome::Conflict);
                Ok(())
            }
            Ok(None) => self.decline(taken, Outcome::Conflict),
            Err(error) => {
                self.face.say(&format!("not kept: {error}"), Style::Removed)?;
                self.ask_about_commits(taken, unwritten.conflicts)
            }
        }
    }
}
