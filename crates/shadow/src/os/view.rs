mod program;
mod starting;

use std::collections::{BTreeMap, BTreeSet};
use std::net::Shutdown;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Child;

use headstart_overlay_fs::{Change, ChangeSet, Tree, file_times};
use headstart_workspace_path::WorkspacePath;

pub use self::starting::Prepared;
use self::starting::end_process;
use super::channel::Channel;
use super::collect::{Collected, collect};
use super::copied::{Listing, Original};
use super::show::ViewWriter;
use super::watch::Watch;
use super::{forgotten, init, mountinfo, outside, read, refused, watch, written};
use crate::report::Listener;
use crate::{
    BuildRoom, Command, End, Limits, Network, Options, Output, PathKind, ReadBack, ReadRules, Refused,
    RootEntry, ShadowError, Shown, Spent, Stream, Tier, layout,
};

/// A copy-on-write view of a workspace, kept alive by the processes that were started for it.
///
/// All calls block. One command runs at a time, or one program during which other files can be shown in the view
/// ([`start_program`](Self::start_program)). [`kill_handle`](Self::kill_handle) gives a handle that ends the view from
/// another thread, whatever the view is doing. Dropping a view ends it and discards what was written in it.
///
/// # Processes
///
/// A view is two processes of the host's binary: one that made the namespaces, and in them the one that runs the commands. The binary's `main`
/// has to call [`entry`](crate::entry) first.
#[derive(Debug)]
pub struct View {
    channel: Channel,
    child: Child,
    ended: bool,
    workspace: PathBuf,
    /// The path at which commands see it.
    shown_at: PathBuf,
    places: Vec<RootEntry>,
    build: Option<BuildRoom>,
    /// The file system with everything that is written, except what is kept on a disk.
    written: OwnedFd,
    /// What it began with, if it is not an overlay.
    original: Original,
    /// The root of the workspace, as the commands see it.
    root: OwnedFd,
    /// The kernel's clock before the workspace was opened: what is changed later shows this time or a later one.
    since: i64,
    /// No file that a command has seen or written has a later time.
    latest: Option<i64>,
    /// The latest time that a shown file was given.
    given: Option<i64>,
    /// The changes that were last shown in the view, or found in it.
    known: BTreeMap<WorkspacePath, Change>,
    hidden: BTreeSet<WorkspacePath>,
    /// The kernel's clock before the last command.
    ran_at: i64,
    /// Where removed contents may be, according to the last reading.
    settled: Option<read::Settled>,
    /// Whether a program was started that may still run.
    has_program: bool,
    /// Watches how much the program builds.
    watch: Option<Watch>,
    /// Whether it was ended because of too much build output.
    is_over_disk: bool,
    /// What the last command took.
    spent: Spent,
    tier: Tier,
    network: Network,
    /// The bytes and files that a clone may have.
    room: Option<(u64, u64)>,
}

/// Ends a view from elsewhere: from another thread, or when a future is dropped.
#[derive(Debug)]
pub struct KillHandle(UnixStream);

impl KillHandle {
    /// Ends the view and everything that runs in it. Returns at once; [`View::run`] then returns
    /// [`ShadowError::Ended`].
    pub fn kill(&self) {
        // An error only means that it has ended already.
        let _ = self.0.shutdown(Shutdown::Both);
    }
}

impl View {
    /// Starts a view.
    pub fn start(options: &Options) -> Result<Self, ShadowError> {
        Self::start_with(options, None)
    }

    /// Starts a view with processes that were prepared for it, which takes a third of the time. If they do not fit,
    /// because something was mounted on the machine meanwhile, for example, they are ended and others are started.
    pub fn start_with(options: &Options, prepared: Option<Prepared>) -> Result<Self, ShadowError> {
        let (mut view, listing) = Self::start_empty(options, prepared)?;
        if let Some(listing) = listing {
            let path = view.workspace.clone();
            let failed = |reason: String| ShadowError::Workspace { path: path.clone(), reason };
            let workspace = std::fs::File::open(&path).map_err(|error| failed(error.to_string()))?;
            view.original = Original::copy(&listing, &workspace, view.root.as_fd()).map_err(|stopped| {
                let error = std::io::Error::from(stopped.error);
                failed(format!("{} cannot be copied: {error}", stopped.path))
            })?;
        }
        Ok(view)
    }

    /// Starts a view. If it begins with a copy, the result says of what, and the caller still has to make it.
    pub(super) fn start_empty(
        options: &Options,
        prepared: Option<Prepared>,
    ) -> Result<(Self, Option<Listing>), ShadowError> {
        let since = file_times::since_now_ns();
        let workspace = real_workspace(&options.workspace)?;
        let mut options = Options { workspace: workspace.clone(), ..options.clone() };
        // If the disk is almost full, everything is kept in memory.
        options.build = options.build.filter(|build| watch::has_room(&build.folder));
        // The processes start while it is decided what they show.
        let Prepared { mut starting, mounts, .. } = Prepared::fitting(prepared, &options)?;
        let mounts = mounts.all();
        if let Some(inner) = mountinfo::below(mounts, &workspace).next() {
            let reason = format!(
                "something is mounted in it at {}, and would uncover what lies below",
                inner.display()
            );
            return Err(ShadowError::Workspace { path: workspace.clone(), reason });
        }
        let places = layout(&options, &|path| {
            let found = standing(path);
            // An overlay cannot be made over a folder with mounts in it, but the folder can be shown.
            let is_tool = options.home.as_deref().is_some_and(|home| path.starts_with(home));
            let is_open = is_tool && mountinfo::below(mounts, path).next().is_some();
            if is_open { PathKind::Nothing } else { found }
        })?;
        let listing = listing(&options, &places)?;
        let apart = apart(&options)?;
        if let (init::Separation::Memory, Some(listing)) = (&apart, &listing) {
            // The copy does not count against what a command may write.
            options.limits.bytes = options.limits.bytes.saturating_add(listing.bytes);
            options.limits.files = options.limits.files.saturating_add(listing.files());
        }
        let build = places.iter().filter_map(|place| match &place.shown {
            Shown::Build { room, .. } => Some(room.as_path()),
            _ => None,
        });
        let whole = if let init::Separation::Disk(folder) = &apart { Some(folder.as_path()) } else { None };
        for room in build.chain(whole) {
            std::fs::create_dir(room).map_err(|error| {
                ShadowError::Refused(refused("mkdir", room.as_os_str().as_bytes(), error))
            })?;
        }
        let message = starting.ready(&options, &apart, &places)?;
        let (channel, child, mut descriptors) = starting.done(message)?;
        let (Some(written), Some(root)) = (descriptors.next(), descriptors.next()) else {
            return Err(ShadowError::protocol("two descriptors were expected"));
        };
        let view = Self {
            channel,
            child,
            ended: false,
            shown_at: options.shown_at.unwrap_or_else(|| workspace.clone()),
            workspace,
            places,
            build: options.build,
            written,
            root,
            since,
            latest: None,
            given: None,
            known: BTreeMap::new(),
            hidden: BTreeSet::new(),
            ran_at: since,
            settled: None,
            has_program: false,
            watch: None,
            is_over_disk: false,
            spent: Spent::default(),
            original: Original::default(),
            tier: options.tier,
            network: options.network,
            room: listing.as_ref().filter(|_| options.tier == Tier::Clone).map(|listing| {
                let Limits { bytes, files, .. } = options.limits;
                (bytes.saturating_add(listing.bytes), files.saturating_add(listing.files()))
            }),
        };
        Ok((view, listing))
    }

    /// How its workspace is kept apart from the one on disk.
    pub fn tier(&self) -> Tier {
        self.tier
    }

    /// The workspace, without links in its path. It has the same path in the view, unless the options show it
    /// elsewhere.
    pub fn workspace(&self) -> &Path {
        &self.workspace
    }

    /// The process ID of its first process, which is the parent of all others.
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Whether build output is kept on a disk.
    pub fn is_on_disk(&self) -> bool {
        self.places.iter().any(|place| matches!(place.shown, Shown::Build { .. }))
    }

    /// Whether the view has ended.
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// A handle that ends this view from elsewhere.
    pub fn kill_handle(&self) -> Result<KillHandle, ShadowError> {
        self.channel.handle().map(KillHandle).map_err(|_| ShadowError::Ended)
    }

    /// Ends all processes of the view; what was written in it is gone.
    pub fn end(mut self) {
        self.end_now();
    }

    /// Writes into the view what differs between this change set and what was shown in the view or found in it last.
    /// Afterwards the view is the workspace with these changes. A file whose content this changes gets a time that no
    /// result of an earlier command has, even if an old content comes back, so that tools that compare times notice
    /// it.
    pub fn show(&mut self, staged: &ChangeSet) -> Result<(), ShadowError> {
        self.check_alive()?;
        let target: BTreeMap<_, _> =
            staged.changes.iter().map(|change| (change.path.clone(), change.clone())).collect();
        self.pass_a_moment();
        let known = std::mem::take(&mut self.known);
        let shown = self.write(|show| show.change(&known, &target));
        if let Some(settled) = &mut self.settled {
            // What is shown was not done by a command, so its content did not go anywhere in the view.
            read::settle(settled, &known, &target);
        }
        self.known = if shown.is_ok() { target } else { known };
        shown
    }

    /// Writes what the steps below this one staged into the view. It counts as part of the tree below the view, so
    /// [`read_back`](Self::read_back) has to be given a tree that shows it too. Has to be called before anything
    /// else.
    pub fn show_below(&mut self, below: &ChangeSet) -> Result<(), ShadowError> {
        self.check_alive()?;
        let target = below.changes.iter().map(|change| (change.path.clone(), change.clone())).collect();
        self.original.note_below(&below.changes);
        self.write(|show| show.change(&BTreeMap::new(), &target))
    }

    /// For a view over finished layers of build output ([`BuildLayer::below`](crate::BuildLayer::below)) that were
    /// finished at `built`, in nanoseconds since the Unix epoch. It gives the paths in `changed`, which changed on
    /// disk since the layers were begun, a later time than what was built, and whatever is shown later too. Their
    /// content is unchanged, so they are not read back.
    pub fn renew(&mut self, built: i64, changed: &[WorkspacePath]) -> Result<(), ShadowError> {
        self.check_alive()?;
        self.latest = self.latest.max(Some(built));
        self.write(|show| show.renew(changed))
    }

    /// Hides paths, with everything below them: commands do not see them, and they are never read back.
    pub fn hide(&mut self, paths: &[WorkspacePath]) -> Result<(), ShadowError> {
        self.check_alive()?;
        for path in paths.iter().filter(|path| !path.is_root()) {
            self.write(|show| show.remove(path))?;
            self.hidden.insert(path.clone());
        }
        Ok(())
    }

    /// Runs a command and waits until none of its processes is left. The answer says how it ended; an error says that
    /// it was not run, or that the view ended.
    pub fn run(&mut self, command: &Command) -> Result<Output, ShadowError> {
        self.run_watched(command, &mut |_| {})
    }

    /// As [`run`](Self::run), and `watch` is given all output as it comes, also what is not kept.
    pub fn run_watched(
        &mut self,
        command: &Command,
        watch: &mut dyn FnMut(&[u8]),
    ) -> Result<Output, ShadowError> {
        let (mut stdout, mut stderr, mut truncated) = (Vec::new(), Vec::new(), false);
        let (end, refused) = self.run_into(command, &mut |stream, bytes| {
            watch(bytes);
            let kept = match stream {
                Stream::Out => &mut stdout,
                Stream::Err => &mut stderr,
            };
            let room = command.output.saturating_sub(kept.len()).min(bytes.len());
            truncated |= room < bytes.len();
            kept.extend_from_slice(&bytes[..room]);
        })?;
        Ok(Output { end, stdout, stderr, truncated, refused, spent: self.spent })
    }

    /// As [`run`](Self::run), with all output given to `sink` as it comes.
    pub fn run_into(
        &mut self,
        command: &Command,
        sink: &mut dyn FnMut(Stream, &[u8]),
    ) -> Result<(End, Refused), ShadowError> {
        self.check_alive()?;
        self.spent = Spent::default();
        self.ran_at = file_times::since_now_ns();
        let directory = self.shown_at.join(std::ffi::OsStr::from_bytes(command.directory.as_bytes()));
        let watch = match (&self.build, self.kill_handle()) {
            (Some(build), Ok(kill_handle)) => Some(Watch::start(build, kill_handle, self.room)),
            _ => None,
        };
        let mut listener = Listener::default();
        let collected = collect(&mut self.channel, &directory, command, &mut |stream, piece| {
            listener.take(stream, piece);
            sink(stream, piece);
        });
        self.latest = self.latest.max(self.given).max(Some(file_times::until_now_ns()));
        if watch.is_some_and(Watch::end) {
            self.end_now();
            return Ok((End::Disk, Refused { quota: true, ..Refused::default() }));
        }
        match collected {
            Ok(Collected::Done { end, without_route, spent }) => {
                self.spent = spent;
                let mut refused = Refused {
                    // With the machine's network, the count includes other programs' packets.
                    network: if self.network == Network::Own { without_route } else { 0 },
                    quota: self.is_full(),
                    outside: outside::written(&self.written, &self.places),
                    ..Refused::default()
                };
                listener.add_to(&mut refused);
                Ok((end, refused))
            }
            Ok(Collected::TimeUp) => {
                self.end_now();
                Ok((End::TimeUp, Refused::default()))
            }
            Ok(Collected::NotStarted(message)) => Err(ShadowError::Command { message, source: None }),
            Ok(Collected::Gone) => {
                self.end_now();
                Err(ShadowError::Ended)
            }
            Err(error) => {
                self.end_now();
                Err(ShadowError::unheard(&error))
            }
        }
    }

    /// What the view holds that `base`, the tree below it, does not: what was shown and what commands wrote. Nothing
    /// is removed from the view.
    ///
    /// `base` is the workspace on disk, or an overlay over it with what the steps below staged.
    pub fn read_back(&mut self, base: &dyn Tree, rules: &ReadRules) -> Result<ReadBack, ShadowError> {
        self.check_alive()?;
        let place = self.places.iter().position(|place| matches!(place.shown, Shown::Workspace { .. }));
        let place = place.unwrap_or_default();
        let mut separate = BTreeMap::new();
        for place in &self.places {
            let Shown::Build { room, .. } = &place.shown else { continue };
            let Some(path) = below(&self.shown_at, &place.at) else { continue };
            let upper = std::fs::File::open(room.join(written::BUILD_UPPER))
                .map_err(|error| ShadowError::read(&path, &error))?;
            separate.insert(path, OwnedFd::from(upper));
        }
        let from = read::ReadSource {
            upper: if self.tier.copies() {
                read::folder(self.root.as_fd(), ".")?
            } else {
                read::folder(self.written.as_fd(), &written::upper(place))?
            },
            original: &self.original,
            separate,
            view: self.root.as_fd(),
            base,
            workspace: &self.workspace,
            since: self.since,
            known: &self.known,
            hidden: &self.hidden,
            ran_at: self.ran_at,
            forgotten: &|lengths| forgotten::files(&self.written, &self.places, lengths),
            settled: self.settled.as_ref(),
        };
        let (back, settled) = read::read(&from, rules)?;
        self.settled = Some(settled);
        self.known =
            back.changes.changes.iter().map(|change| (change.path.clone(), change.clone())).collect();
        Ok(back)
    }

    /// The bytes and files that were written in the view, in all places together.
    pub fn usage(&self) -> Result<(u64, u64), ShadowError> {
        let found =
            rustix::fs::fstatvfs(&self.written).map_err(|error| ShadowError::unheard(&error.into()))?;
        let (bytes, files) =
            ((found.f_blocks - found.f_bfree) * found.f_frsize, found.f_files - found.f_ffree);
        // A copy on a disk takes nothing of the view's memory.
        let of_copy = if self.tier == Tier::Copy { self.original.taken() } else { (0, 0) };
        Ok((bytes.saturating_sub(of_copy.0), files.saturating_sub(of_copy.1)))
    }

    /// The root of the workspace as commands see it. What is opened below it may be anything that a command left
    /// there.
    pub fn root(&self) -> BorrowedFd<'_> {
        self.root.as_fd()
    }

    fn write<T>(&mut self, write: impl FnOnce(&ViewWriter<'_>) -> T) -> T {
        let show = ViewWriter::new(self.root.as_fd(), self.latest);
        let show = if self.has_program { show.beside_a_program() } else { show };
        let written = write(&show);
        self.given = self.given.max(show.given());
        written
    }

    fn is_full(&self) -> bool {
        rustix::fs::fstatvfs(&self.written).is_ok_and(|found| found.f_bavail == 0 || found.f_ffree == 0)
    }

    fn check_alive(&self) -> Result<(), ShadowError> {
        if self.ended { Err(self.why_ended()) } else { Ok(()) }
    }

    fn why_ended(&self) -> ShadowError {
        if self.is_over_disk { ShadowError::Disk } else { ShadowError::Ended }
    }

    fn end_now(&mut self) {
        if !std::mem::replace(&mut self.ended, true) {
            if let Ok(socket) = self.channel.handle() {
                let _ = socket.shutdown(Shutdown::Both);
            }
            end_process(&mut self.child);
            self.watch_no_more();
        }
    }
}

impl Drop for View {
    fn drop(&mut self) {
        self.end_now();
    }
}

/// What a view begins with in a tier that copies.
fn listing(options: &Options, places: &[RootEntry]) -> Result<Option<Listing>, ShadowError> {
    if !options.tier.copies() {
        return Ok(None);
    }
    let path = &options.workspace;
    let shown_at = options.shown_at.as_ref().unwrap_or(path);
    let failed = |reason: String| ShadowError::Workspace { path: path.clone(), reason };
    let workspace = std::fs::File::open(path).map_err(|error| failed(error.to_string()))?;
    let separate = places.iter().filter(|place| matches!(place.shown, Shown::Build { .. }));
    let separate: Vec<_> = separate.filter_map(|place| below(shown_at, &place.at)).collect();
    Listing::of(&workspace, path, options.tier, &separate).map(Some).map_err(failed)
}

/// How a view's workspace is kept apart.
fn apart(options: &Options) -> Result<init::Separation, ShadowError> {
    match (options.tier, &options.build) {
        (Tier::Kernel, _) => Ok(init::Separation::Overlay),
        (Tier::Copy, _) => Ok(init::Separation::Memory),
        (Tier::Clone, Some(build)) => Ok(init::Separation::Disk(build.folder.join(written::CLONE))),
        (Tier::Clone, None) => Err(ShadowError::Workspace {
            path: options.workspace.clone(),
            reason: "there is no folder to clone it into, or its disk is almost full".to_owned(),
        }),
    }
}

/// A path of the workspace, from an absolute one.
fn below(workspace: &Path, path: &Path) -> Option<WorkspacePath> {
    WorkspacePath::parse(path.strip_prefix(workspace).ok()?.to_str()?).ok()
}

fn real_workspace(path: &Path) -> Result<PathBuf, ShadowError> {
    let refuse = |reason: String| ShadowError::Workspace { path: path.to_owned(), reason };
    let real = path.canonicalize().map_err(|error| refuse(error.to_string()))?;
    if real.is_dir() { Ok(real) } else { Err(refuse("it is not a folder".to_owned())) }
}

fn standing(path: &Path) -> PathKind {
    match path.symlink_metadata() {
        Ok(found) if found.is_symlink() => path.read_link().map_or(PathKind::Nothing, PathKind::Link),
        Ok(found) if found.is_dir() => PathKind::Folder,
        Ok(found) if found.is_file() => PathKind::File,
        _ => PathKind::Nothing,
    }
}
