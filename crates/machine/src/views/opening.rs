//! Opens a view together with its folder on disk and the finished layers below it.

use headstart_overlay_fs::WorkspacePath;
use headstart_shadow::{Options, ShadowError, Tier, View};
use headstart_tool_gate::DenyRules;

use super::repository::ViewRepository;
use super::view_folders::{ViewFolder, ViewFolders, ViewInfo};
use super::warm_layers::LayersInUse;
use super::{Views, support};
use crate::clock;

/// A view, and the resources that must be dropped after it.
pub struct OpenedView {
    pub view: View,
    /// The state of the repository in it.
    pub(super) git: ViewRepository,
    /// The view shows the files as they were on disk at this time, in nanoseconds of the clock of files.
    pub(super) fresh: i64,
    /// What it hides from a command of the user's.
    pub(super) hidden: Vec<WorkspacePath>,
    /// What it shows of the project's test data that look like secrets, to a command of the user's.
    pub(super) test_data: Vec<WorkspacePath>,
    files: ViewFiles,
}

/// The files of a view on disk, through which other processes know of it. They must be dropped after the view.
#[derive(Default)]
pub struct ViewFiles {
    room: Option<ViewFolder>,
    /// The locks of the layers below the view, which keep them from being removed.
    _over: Option<LayersInUse>,
}

/// Where build output is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BuildOutput {
    /// To disk, into folders that are mounted separately and therefore cannot be removed or renamed as a whole.
    OnDisk,
    /// To memory, with everything else.
    InMemory,
    /// To a copy of the workspace, if the workspace is small enough. In a copy a folder can be renamed as a whole; what
    /// git ignores is missing.
    Copied,
}

impl Views {
    /// A new view in which no changes are shown yet.
    pub(super) fn open(
        &self,
        id: &str,
        deny: &DenyRules,
        output: BuildOutput,
    ) -> Result<OpenedView, ShadowError> {
        let git = ViewRepository::starts_now();
        let (view, files) = self.start(id, &self.options, deny, output)?;
        let fresh = git.since;
        Ok(OpenedView { view, git, fresh, hidden: Vec::new(), test_data: Vec::new(), files })
    }

    /// A view with these options, in which no changes are shown yet. If the disk cannot hold one of its layers, the
    /// layer is in memory.
    pub(crate) fn start(
        &self,
        id: &str,
        options: &Options,
        deny: &DenyRules,
        output: BuildOutput,
    ) -> Result<(View, ViewFiles), ShadowError> {
        let options = Options { beside: self.beside(deny).folders, ..options.clone() };
        let started = self.start_with_fallback(id, &options, deny, output);
        let is_refused = matches!(&started, Err(ShadowError::Refused(_) | ShadowError::Workspace { .. }));
        if let (true, Some(state)) = (is_refused, &self.state) {
            support::forget(state);
        }
        started
    }

    fn start_with_fallback(
        &self,
        id: &str,
        options: &Options,
        deny: &DenyRules,
        output: BuildOutput,
    ) -> Result<(View, ViewFiles), ShadowError> {
        let becomes_copy = output == BuildOutput::Copied && !options.tier.copies();
        let tier = if becomes_copy { Tier::Copy } else { options.tier };
        let options = &Options { tier, ..options.clone() };
        let Some((rooms, mut room)) = self.create_view_folder(id) else {
            return Ok((self.start_view(options)?, ViewFiles::default()));
        };
        let (view, over) = match output {
            _ if becomes_copy => {
                room.update_info(|about| about.tier = Tier::Copy);
                (self.start_view(options)?, None)
            }
            // The whole view is on disk.
            _ if options.tier == Tier::Clone => {
                let build = Some(rooms.build(&room, &[], |_| Vec::new()));
                (self.start_view(&Options { build, ..options.clone() })?, None)
            }
            BuildOutput::InMemory => (self.start_view(options)?, None),
            BuildOutput::OnDisk | BuildOutput::Copied => self.start_in(rooms, &room, options, deny)?,
        };
        room.update_info(|about| about.process = view.process());
        Ok((view, ViewFiles { room: Some(room), _over: over }))
    }

    /// Makes a room for a view, after space has been freed for it. A state folder that cannot be written to is reported
    /// elsewhere.
    fn create_view_folder(&self, id: &str) -> Option<(&ViewFolders, ViewFolder)> {
        let rooms = self.rooms.as_ref()?;
        self.free_space(rooms);
        Some((rooms, rooms.make(id, self.options.tier).ok()?))
    }

    fn start_in(
        &self,
        rooms: &ViewFolders,
        room: &ViewFolder,
        options: &Options,
        deny: &DenyRules,
    ) -> Result<(View, Option<LayersInUse>), ShadowError> {
        let folders = rooms.folders(deny);
        if folders.is_empty() {
            return Ok((self.start_view(options)?, None));
        }
        let with = |build| Options { build: Some(build), ..options.clone() };
        // A finished layer can only be a layer of an overlay.
        let over = if options.tier.copies() { None } else { rooms.warm().take(&folders) };
        if let Some(over) = over {
            let build = rooms.build(room, &folders, |folder| over.below(folder));
            let started = self.start_view(&with(build)).and_then(|mut view| {
                view.renew(over.done(), &over.changed)?;
                Ok(view)
            });
            match started {
                Ok(view) => return Ok((view, Some(over))),
                // The files that changed on disk could not be given another time, or a layer is damaged.
                Err(_) => drop(room.empty()),
            }
        }
        let build = rooms.build(room, &folders, |_| Vec::new());
        let view = match self.start_view(&with(build)) {
            Err(ShadowError::Refused(_)) => self.start_view(options)?,
            started => started?,
        };
        Ok((view, None))
    }

    /// Frees space on disk, beginning with what was last used the longest ago: first views of this process that are
    /// idle, then finished layers.
    fn free_space(&self, rooms: &ViewFolders) {
        loop {
            let (used, most) = rooms.usage();
            if used <= most / 4 * 3 {
                return;
            }
            let ended = self.end_oldest();
            if !ended && !rooms.warm().clear() {
                return;
            }
            if !ended && rooms.usage().0 == used {
                return;
            }
        }
    }
}

impl OpenedView {
    /// Tells other processes that a command runs, or how much the view holds after it.
    pub(super) fn set_running(&mut self, is_running: bool) {
        if !is_running {
            self.files.measure(&self.view);
        }
        self.files.update_info(|about| {
            about.is_running = is_running;
            about.used = clock::unix_ms();
        });
    }
}

impl ViewFiles {
    /// Updates what other processes are told about the view.
    pub(crate) fn update_info(&mut self, change: impl FnOnce(&mut ViewInfo)) {
        if let Some(room) = &mut self.room {
            room.update_info(change);
        }
    }

    /// Tells other processes how much was written in the view.
    pub(crate) fn measure(&mut self, view: &View) {
        let Some(room) = &mut self.room else { return };
        let (written, disk) = (view.usage().ok(), room.bytes());
        room.update_info(|about| {
            about.memory_bytes = written.map_or(about.memory_bytes, |(bytes, _)| bytes);
            about.disk_bytes = disk;
        });
    }
}

/// Whether a command failed because a separately mounted folder cannot be removed as a whole.
pub(super) fn hit_mount_point(opened: &OpenedView, exit_code: Option<i32>, output: &str) -> bool {
    const MESSAGES: [&str; 3] = ["Device or resource busy", "EBUSY", "os error 16"];
    exit_code != Some(0) && opened.view.is_on_disk() && MESSAGES.iter().any(|busy| output.contains(busy))
}
