//! Builds in advance the layers with which all views of a workspace begin, from the tree on disk without staged
//! changes.

use std::time::{Duration, Instant};

use headstart_overlay_fs::{OsTree, WorkspacePath};
use headstart_shadow::{Command, End, KillHandle, Options, Stream, Streams, View};
use headstart_tool_gate::DenyRules;

use super::Views;

/// The time limit of all commands together. It is longer than that of a command of work ahead, because a build from
/// nothing takes long.
const TIME: Duration = Duration::from_secs(30 * 60);

/// The result of building in advance.
pub struct BuildResult {
    pub end: End,
    pub time: Duration,
    pub folders: Vec<WorkspacePath>,
    /// The number of bytes that are stored now; the error says why nothing is. `Ok(None)` means that nothing was built.
    pub kept: Result<Option<u64>, String>,
}

impl Views {
    /// The command lines for this in the user's file.
    pub fn warm_lines(&self) -> &[String] {
        &self.warm
    }

    /// A command line for [`build_layers`](Self::build_layers).
    pub fn layer_command(&self, line: &str) -> Command {
        self.command(line, TIME, 0)
    }

    /// A program with its arguments for [`build_layers`](Self::build_layers).
    pub fn layer_program(&self, words: &[String]) -> Command {
        self.program(words, Streams::Apart)
    }

    /// Runs the commands one after the other, and stores what they built. The error says why nothing ran.
    pub fn build_layers(
        &self,
        commands: &[Command],
        deny: &DenyRules,
        started: impl FnOnce(KillHandle),
        sink: &mut dyn FnMut(Stream, &[u8]),
    ) -> Result<BuildResult, String> {
        if self.options.tier.copies() {
            return Err(format!(
                "a finished layer needs the overlay of the kernel, and here a view is a {} (headstart shadow check says why)",
                self.options.tier
            ));
        }
        let failed = |error: headstart_shadow::ShadowError| error.to_string();
        let rooms =
            self.rooms.as_ref().ok_or("there is no state folder outside the workspace to keep it in")?;
        let folders = rooms.folders(deny);
        if folders.is_empty() {
            return Err("the workspace has no folder of build output that git does not track (docs/shadow.md names them; \
                        [shadow] build names further ones)"
                .to_owned());
        }
        let mut room = rooms.make("warm", self.options.tier).map_err(|error| error.to_string())?;
        let warm = rooms.warm();
        let filling = warm.begin(&folders)?;
        let over = warm.take(&folders);
        let below = |folder: &WorkspacePath| over.as_ref().map_or(Vec::new(), |over| over.below(folder));
        let build = rooms.build(&room, &folders, below);
        let beside = self.beside(deny).folders;
        let mut view = self
            .start_view(&Options { build: Some(build), beside, ..self.options.clone() })
            .map_err(failed)?;
        started(view.kill_handle().map_err(failed)?);
        if !view.is_on_disk() {
            return Err("the disk is almost full".to_owned());
        }
        if let Some(over) = &over {
            view.renew(over.done(), &over.changed).map_err(failed)?;
        }
        room.update_info(|about| {
            about.process = view.process();
            about.is_running = true;
        });
        let closed = self.closed(deny).map_err(|error| error.to_string())?;
        view.hide(&closed.paths).map_err(failed)?;
        let began = Instant::now();
        let mut end = End::Exited { code: 0 };
        for command in commands {
            let time = TIME.saturating_sub(began.elapsed());
            end = view.run_into(&Command { time, ..command.clone() }, sink).map_err(failed)?.0;
            if !end.is_success() {
                break;
            }
        }
        let time = began.elapsed();
        let kept = if end.is_success() {
            self.rests_on_disk(&mut view, &folders).and_then(|()| {
                view.end();
                warm.store(&filling, &room, over.as_ref())
            })
        } else {
            Err("the command failed".to_owned())
        };
        Ok(BuildResult { end, time, folders, kept })
    }

    /// Checks that the built files do not depend on files that only this view has.
    fn rests_on_disk(&self, view: &mut View, folders: &[WorkspacePath]) -> Result<(), String> {
        let tree = OsTree::open(view.workspace()).map_err(|error| error.to_string())?;
        let back = view.read_back(&tree, &self.rules).map_err(|error| error.to_string())?;
        let changed = back.changes.changes.iter().map(|change| &change.path);
        let elsewhere = back.ignored.iter().filter(|path| !folders.contains(path));
        match changed.chain(&back.changed_meanwhile).chain(elsewhere).next() {
            None => Ok(()),
            Some(path) => Err(format!(
                "it changes {path} as well, which views would not have; run it once yourself, then this again"
            )),
        }
    }
}
