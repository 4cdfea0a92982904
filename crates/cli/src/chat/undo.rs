//! `/undo`: what the last turn has changed is as it was before.

use headstart_agent::Phase;
use headstart_overlay_fs::{SeveralUndone, UndoOutcome};

use super::Chat;
use super::show::{conflicts, counted};
use crate::error::CliError;
use crate::output::{one_line, shortened};
use crate::terminal::Style;

/// So many files are named.
const MOST_NAMED: usize = 12;

impl Chat {
    /// Takes back all that the last turn has written, or nothing of it.
    pub(super) fn undo(&mut self) -> Result<(), CliError> {
        if !matches!(self.agent.view().phase, Phase::Idle) {
            return self.face.say("a turn is running; Ctrl-C interrupts it", Style::Removed);
        }
        let Some(turn) = self.agent.last_commits() else {
            let none = "no turn of this chat has changed a file that is not as before; \
                        `headstart undo` takes back what was changed before this chat";
            return self.face.say(none, Style::Dim);
        };
        let prompt = shortened(&one_line(&turn.prompt), 60);
        let nothing = format!("nothing of \"{prompt}\" was taken back");
        let SeveralUndone { commits, paths, stopped } = match self.parts.tree.undo_several(&turn.commits) {
            Ok(several) => several,
            Err(error) => return self.face.say(&format!("{nothing}: {error}"), Style::Removed),
        };
        let is_whole = stopped.is_none();
        let why = match stopped {
            None => String::new(),
            Some(UndoOutcome::Conflict(found)) => {
                format!("what it wrote has changed since\n{}", conflicts(&found))
            }
            Some(_) => "it is not kept any more (the last 20 changes are, up to 256 MiB)".to_owned(),
        };
        if commits == 0 {
            return self.face.say(&format!("{nothing}: {why}"), Style::Removed);
        }
        let mut lines: Vec<_> =
            paths.iter().take(MOST_NAMED).map(|path| format!("as before  {path}")).collect();
        if MOST_NAMED < paths.len() {
            lines.push(format!("… {} more", paths.len() - MOST_NAMED));
        }
        self.face.say(&lines.join("\n"), Style::Plain)?;
        if !is_whole {
            let left = counted(turn.commits.len() - commits, "older change");
            return self.face.say(&format!("{left} of that turn stayed: {why}"), Style::Removed);
        }
        self.agent.took_back(&turn);
        let told = format!(
            "what \"{prompt}\" wrote is taken back, and the model is told with your next prompt; what its commands did is not"
        );
        self.face.say(&told, Style::Dim)
    }
}
