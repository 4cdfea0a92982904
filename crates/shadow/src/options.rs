use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use headstart_overlay_fs::Quota;
use headstart_workspace_path::WorkspacePath;

use crate::{Limits, Tier};

/// Of what a view is made, and how much it may use.
#[derive(Debug, Clone)]
pub struct Options {
    /// The workspace, an absolute path.
    pub workspace: PathBuf,
    /// Where commands see the workspace, if not at its own path: for a copy of one that is elsewhere.
    pub shown_at: Option<PathBuf>,
    /// The user's home folder: in a view an empty one, with the folders of tools ([`TOOL_FOLDERS`](crate::TOOL_FOLDERS)) in it.
    pub home: Option<PathBuf>,
    /// Folders of programs, as they are on `PATH`: shown read-only.
    pub programs: Vec<PathBuf>,
    /// Further folders that are shown read-only.
    pub show: Vec<PathBuf>,
    /// Further folders of tools, absolute: shown copy-on-write, what is written there is forgotten.
    pub tools: Vec<PathBuf>,
    /// Folders of the home that are the machine's own, absolute: what is written there stays. For a program that keeps in them what others are to find; all that
    /// is in them counts as given to it. One that holds the workspace, the home or a folder of the system, or lies in the workspace, is not shown. A file is
    /// shared where it lies in one of the [`tools`](Self::tools).
    pub shared: Vec<PathBuf>,
    /// Files of the home, absolute, of which the view has a copy, forgotten with it. One that is not there, is no regular file or has more than 16 MiB is left out.
    pub copied: Vec<PathBuf>,
    /// Folders of the home, absolute, that are shown empty.
    pub emptied: Vec<PathBuf>,
    /// Which network is reached.
    pub network: Network,
    /// Folders of build output that are kept on a disk; what is written to others is kept in memory.
    pub build: Option<BuildRoom>,
    /// How the workspace is kept apart from the one on disk.
    pub tier: Tier,
    /// How much the view may use.
    pub limits: Limits,
    /// The program that becomes the processes of the view: its `main` calls `entry` of this crate first. By default this program.
    pub program: PathBuf,
    /// How long a start may take before it is given up.
    pub patience: Duration,
}

/// Which network a view reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Network {
    /// Its own loopback.
    #[default]
    Own,
    /// The machine's, for a program that cannot do without: whoever allows it decides what may run in the view by more than the view. No socket of the family
    /// `AF_UNIX` can be made then, for those with a name of their own belong to the network; pairs of them can.
    Machine,
}

impl Options {
    /// A view of this workspace without a home folder, with the system's programs.
    pub fn new(workspace: impl Into<PathBuf>) -> Self {
        Self {
            workspace: workspace.into(),
            shown_at: None,
            home: None,
            programs: Vec::new(),
            show: Vec::new(),
            tools: Vec::new(),
            shared: Vec::new(),
            copied: Vec::new(),
            emptied: Vec::new(),
            network: Network::Own,
            build: None,
            tier: Tier::Kernel,
            limits: Limits::default(),
            program: PathBuf::from("/proc/self/exe"),
            patience: Duration::from_secs(10),
        }
    }

    /// With this home folder, and the folders of programs of this `PATH`.
    #[must_use]
    pub fn of_user(mut self, home: Option<&Path>, path: Option<&std::ffi::OsStr>) -> Self {
        self.home = home.map(Path::to_owned);
        self.programs = path.map(|path| std::env::split_paths(path).collect()).unwrap_or_default();
        self
    }
}

/// Where a view keeps build output on a disk, and a [`Tier::Clone`] all else as well.
///
/// The caller makes the folder and removes it when the view has ended ([`remove_folder`](crate::remove_folder)). Build tools compare times, so what one
/// view built is never shown to another, but for finished layers that rest on the workspace as it is on disk: whoever names one in
/// [`below`](BuildLayer::below) has to [`renew`](crate::View::renew) what changed on disk since.
#[derive(Debug, Clone)]
pub struct BuildRoom {
    /// A folder for this view alone, empty at its start, outside the workspace.
    pub folder: PathBuf,
    /// What is kept in it.
    pub layers: Vec<BuildLayer>,
    /// Bytes that may be in [`measured`](Self::measured), looked at once a second while a command or a program runs; beyond them the view is ended.
    pub bytes: u64,
    /// The folder that holds all such rooms.
    pub measured: PathBuf,
}

impl BuildRoom {
    /// Each layer, with where it is kept.
    pub(crate) fn rooms(&self) -> impl Iterator<Item = (PathBuf, &BuildLayer)> {
        self.layers.iter().enumerate().map(|(number, layer)| (self.folder.join(number.to_string()), layer))
    }
}

/// One folder of build output.
#[derive(Debug, Clone)]
pub struct BuildLayer {
    /// The folder, relative to the workspace; it need not be there, but the one above it.
    pub path: WorkspacePath,
    /// Finished layers that lie between the folder on disk and what the view writes, the topmost first.
    pub below: Vec<PathBuf>,
}

/// What of a command's output goes where.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Streams {
    /// Both in one, in the order in which they were written.
    #[default]
    Joined,
    /// Each by itself.
    Apart,
}

/// A command to run in a view.
#[derive(Debug, Clone)]
pub struct Command {
    /// The program and its arguments. A name without a slash is looked for on the `PATH` of [`environment`](Self::environment).
    pub arguments: Vec<OsString>,
    /// The folder in which it starts.
    pub directory: WorkspacePath,
    /// All variables that it sees; nothing of this process's own environment gets in.
    pub environment: Vec<(OsString, OsString)>,
    /// How long it may take. When the time is up the view ends, with all that is in it.
    pub time: Duration,
    /// How many bytes of its output are kept; the rest is read and dropped.
    pub output: usize,
    /// Whether standard output and standard error come as one.
    pub streams: Streams,
}

impl Command {
    /// The program with these arguments, in the root of the workspace, with no variable but a `PATH` of the system's folders.
    pub fn new(arguments: impl IntoIterator<Item = impl Into<OsString>>, time: Duration) -> Self {
        Self {
            arguments: arguments.into_iter().map(Into::into).collect(),
            directory: WorkspacePath::root(),
            environment: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin".into())],
            time,
            output: 1 << 20,
            streams: Streams::default(),
        }
    }

    /// A line for `/bin/sh`, as [`new`](Self::new).
    pub fn shell(line: impl Into<OsString>, time: Duration) -> Self {
        Self::new([OsString::from("/bin/sh"), OsString::from("-c"), line.into()], time)
    }

    /// With this variable, in place of an earlier one of the name.
    #[must_use]
    pub fn with_variable(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        let name = name.into();
        self.environment.retain(|(known, _)| *known != name);
        self.environment.push((name, value.into()));
        self
    }
}

/// What of a view becomes part of the change set.
#[derive(Debug, Clone)]
pub struct ReadRules {
    /// How much it may hold.
    pub quota: Quota,
    /// Whether paths that `.gitignore` files of the view leave out are left out, and build output that none of them names
    /// ([`BUILD_FOLDERS`](crate::BUILD_FOLDERS)); those that were shown are not.
    pub ignore: bool,
    /// Further folders of build output, which are left out as well.
    pub build: Vec<WorkspacePath>,
    /// Ignored paths that are read all the same, with all that is below them.
    pub keep: Vec<WorkspacePath>,
}

impl ReadRules {
    /// Without what git ignores and without build output, up to this quota.
    pub fn new(quota: Quota) -> Self {
        Self { quota, ignore: true, build: Vec::new(), keep: Vec::new() }
    }
}
