//! A view with what belongs to it: its room on the disk, and the finished layers that it lies over.

use headstart_shadow::{Options, ShadowError, Tier, View};
use headstart_tool_gate::DenyRules;

use super::repository::InView;
use super::rooms::{Room, Rooms};
use super::warm::Used;
use super::{Views, support};

/// A view, and what goes after it.
pub(crate) struct Opened {
    pub(crate) view: View,
    /// What is known of the repository in it.
    pub(super) git: InView,
    /// It shows what was on disk at this moment, in nanoseconds of the clock of files.
    pub(super) fresh: i64,
    pub(super) room: Option<Room>,
    /// Nobody removes these while the view lies over them.
    _over: Option<Used>,
}

/// Where build output goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Output {
    /// To the disk, in folders that have a place of their own and so cannot be removed or renamed as a whole.
    OnDisk,
    /// To memory, with all else.
    InMemory,
    /// Nowhere but in a copy of the workspace, where that is small enough: there a folder can be renamed as a whole. What git ignores is not in it.
    Copied,
}

impl Views {
    /// A new view with nothing shown in it. Where the disk cannot hold a layer of it, it is in memory.
    pub(super) fn open(&self, id: &str, deny: &DenyRules, output: Output) -> Result<Opened, ShadowError> {
        let opened = self.open_somewhere(id, deny, output);
        let is_refused = matches!(&opened, Err(ShadowError::Refused(_) | ShadowError::Workspace { .. }));
        if let (true, Some(state)) = (is_refused, &self.state) {
            support::forget(state);
        }
        opened
    }

    fn open_somewhere(&self, id: &str, deny: &DenyRules, output: Output) -> Result<Opened, ShadowError> {
        if output == Output::Copied && !self.options.tier.copies() {
            let options = Options { tier: Tier::Copy, ..self.options.clone() };
            let git = InView::starts_now();
            let (fresh, view) = (git.since, self.start_view(&options)?);
            return Ok(Opened { view, git, fresh, room: None, _over: None });
        }
        let git = InView::starts_now();
        let fresh = git.since;
        if output == Output::InMemory || self.options.tier == Tier::Clone {
            let (view, room) = self.start(id, &self.options)?;
            return Ok(Opened { view, git, fresh, room, _over: None });
        }
        let Some((rooms, mut room)) = self.make_a_room(id) else {
            let view = self.start_view(&self.options)?;
            return Ok(Opened { view, git, fresh, room: None, _over: None });
        };
        let (view, over) = self.start_in(rooms, &room, deny)?;
        room.tell(|about| about.process = view.process());
        Ok(Opened { view, git, fresh, room: Some(room), _over: over })
    }

    /// A view of all in one: with a room on the disk only where it is a clone, which is to go after it.
    pub(crate) fn start(&self, id: &str, options: &Options) -> Result<(View, Option<Room>), ShadowError> {
        let made = if options.tier == Tier::Clone { self.make_a_room(id) } else { None };
        let Some((rooms, mut room)) = made else { return Ok((self.start_view(options)?, None)) };
        let build = Some(rooms.build(&room, &[], |_| Vec::new()));
        let view = self.start_view(&Options { build, ..options.clone() })?;
        room.tell(|about| about.process = view.process());
        Ok((view, Some(room)))
    }

    /// A state folder that cannot be written is told by whoever needs it.
    fn make_a_room(&self, id: &str) -> Option<(&Rooms, Room)> {
        let rooms = self.rooms.as_ref()?;
        self.make_room(rooms);
        Some((rooms, rooms.make(id, self.options.tier).ok()?))
    }

    fn start_in(
        &self,
        rooms: &Rooms,
        room: &Room,
        deny: &DenyRules,
    ) -> Result<(View, Option<Used>), ShadowError> {
        let folders = rooms.folders(deny);
        if folders.is_empty() {
            return Ok((self.start_view(&self.options)?, None));
        }
        let with = |build| Options { build: Some(build), ..self.options.clone() };
        // A finished layer serves as one of an overlay.
        let over = if self.options.tier.copies() { None } else { rooms.warm().take(&folders) };
        if let Some(over) = over {
            let build = rooms.build(room, &folders, |folder| over.below(folder));
            let started = self.start_view(&with(build)).and_then(|mut view| {
                view.renew(over.done(), &over.changed)?;
                Ok(view)
            });
            match started {
                Ok(view) => return Ok((view, Some(over))),
                // What changed on disk cannot be given another time, or a layer is damaged.
                Err(_) => drop(room.empty()),
            }
        }
        let build = rooms.build(room, &folders, |_| Vec::new());
        let view = match self.start_view(&with(build)) {
            Err(ShadowError::Refused(_)) => self.start_view(&self.options)?,
            started => started?,
        };
        Ok((view, None))
    }

    /// Makes space on the disk, the longest unused first: views of this process that are idle, then finished layers.
    fn make_room(&self, rooms: &Rooms) {
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

impl Opened {
    /// Tells other processes that a command runs, or how much there is after it.
    pub(super) fn tell(&mut self, is_running: bool) {
        let Some(room) = &mut self.room else { return };
        let written = if is_running { None } else { self.view.usage().ok() };
        let disk = (!is_running).then(|| room.bytes());
        room.tell(|about| {
            about.is_running = is_running;
            about.memory_bytes = written.map_or(about.memory_bytes, |(bytes, _)| bytes);
            about.disk_bytes = disk.unwrap_or(about.disk_bytes);
        });
    }
}

/// Whether a command failed because a folder that has a place of its own cannot be removed as a whole.
pub(super) fn met_a_place(opened: &Opened, exit_code: Option<i32>, said: &str) -> bool {
    const SAID: [&str; 3] = ["Device or resource busy", "EBUSY", "os error 16"];
    exit_code != Some(0) && opened.view.is_on_disk() && SAID.iter().any(|busy| said.contains(busy))
}
