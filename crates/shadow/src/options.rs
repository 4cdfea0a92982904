use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use headstart_overlay_fs::Quota;
use headstart_workspace_path::WorkspacePath;

use crate::{Limits, Tier};

/// What a view consists of, and how much it may use.
#[derive(Debug, Clone)]
pub struct Options {
    /// The workspace, an absolute path.
    pub workspace: PathBuf,
    /// Where commands see the workspace, if not at its own path: for a copy of a workspace that is elsewhere.
    pub shown_at: Option<PathBuf>,
    /// The user's home folder. In a view it is empty, except for the folders of tools
    /// ([`TOOL_FOLDERS`](crate::TOOL_FOLDERS)).
    pub home: Option<PathBuf>,
    /// Folders with programs, as on `PATH`: shown read-only.
    pub programs: Vec<PathBuf>,
    /// Further folders that are shown read-only.
    pub show: Vec<PathBuf>,
    /// Folders outside the workspace that belong to its repository, also one around the workspace.
    pub beside: Vec<Beside>,
    /// Further folders of tools, absolute: shown copy-on-write, and what is written there is discarded.
    pub tools: Vec<PathBuf>,
    /// Folders of the home that are the machine's own, absolute: what is written there stays. For a program whose
    /// results others have to find there; everything in such a folder is accessible to it. A folder that holds the
    /// workspace, the home or a folder of the system, or lies in the workspace, is not shown. A file can be shared if
    /// it lies in one of the [`tools`](Self::tools).
    pub shared: Vec<PathBuf>,
    /// Files of the home, absolute, of which the view has a copy that is discarded with it. A path that is no regular
    /// file, or one of more than 16 MiB, is left out.
    pub copied: Vec<PathBuf>,
    /// Folders of the home, absolute, that are shown empty.
    pub emptied: Vec<PathBuf>,
    /// Which network is reached.
    pub network: Network,
    /// Folders of build output that are kept on a disk; without them build output is kept in memory.
    pub build: Option<BuildRoom>,
    /// How the workspace is kept apart from the one on disk.
    pub tier: Tier,
    /// How much the view may use.
    pub limits: Limits,
    /// The program that becomes the processes of the view: its `main` calls `entry` of this crate first. The default
    /// is this program.
    pub program: PathBuf,
    /// How long a start may take before it is given up.
    pub patience: Duration,
}

/// A folder outside the workspace that is shown copy-on-write. What is written there is discarded, and told
/// ([`Refused::outside`](crate::Refused::outside)).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Beside {
    /// The folder, an absolute path. One that holds the home or a folder of the system, or lies in the workspace, is not
    /// shown.
    pub folder: PathBuf,
    /// Paths in it that are not shown.
    pub masked: Vec<PathBuf>,
}

/// The network that a view reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Network {
    /// Its own loopback.
    #[default]
    Own,
    /// The machine's, for a program that cannot do without. Whoever allows it must decide by other means than the
    /// view what may run in it. No socket of the family `AF_UNIX` can be made then, because those with an abstract
    /// name belong to the network; socket pairs are possible.
    Machine,
}

impl Options {
    /// A view of this workspace, without a home folder and with the system's programs.
    pub fn new(workspace: impl Into<PathBuf>) -> Self {
        Self {
            workspace: workspace.into(),
            shown_at: None,
            home: None,
            programs: Vec::new(),
            show: Vec::new(),
            beside: Vec::new(),
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

    /// Adds this home folder, and the folders of programs on this `PATH`.
    #[must_use]
    pub fn of_user(mut self, home: Option<&Path>, path: Option<&std::ffi::OsStr>) -> Self {
        self.home = home.map(Path::to_owned);
        self.programs = path.map(|path| std::env::split_paths(path).collect()).unwrap_or_default();
        self
    }
}

/// Where a view keeps build output on a disk, and a [`Tier::Clone`] everything else too.
///
/// The caller makes the folder, and removes it when the view has ended ([`remove_folder`](crate::remove_folder)).
/// Build tools compare times, so what one view built is never shown to another, except as a finished layer that
/// belongs to the workspace as it is on disk. Whoever names a layer in [`below`](BuildLayer::below) has to
/// [`renew`](crate::View::renew) what changed on disk since.
#[derive(Debug, Clone)]
pub struct BuildRoom {
    /// A folder for this view alone, outside the workspace, empty at the start.
    pub folder: PathBuf,
    /// The folders of build output that are kept in it.
    pub layers: Vec<BuildLayer>,
    /// The most bytes that [`measured`](Self::measured) may hold, checked once a second while a command or a program
    /// runs. Beyond them the view is ended.
    pub bytes: u64,
    /// The folder that holds the rooms of all views.
    pub measured: PathBuf,
}

impl BuildRoom {
    /// Each layer with the folder in which it is kept.
    pub(crate) fn rooms(&self) -> impl Iterator<Item = (PathBuf, &BuildLayer)> {
        self.layers.iter().enumerate().map(|(number, layer)| (self.folder.join(number.to_string()), layer))
    }
}

/// One folder of build output.
#[derive(Debug, Clone)]
pub struct BuildLayer {
    /// The folder, relative to the workspace. It need not exist, but the one above it must.
    pub path: WorkspacePath,
    /// Finished layers between the folder on disk and what the view writes, the topmost first.
    pub below: Vec<PathBuf>,
}

/// Whether a command's two outputs come together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Streams {
    /// Both as one, in the order in which they were written.
    #[default]
    Joined,
    /// Each by itself.
    Apart,
}

/// A command to run in a view.
#[derive(Debug, Clone)]
pub struct Command {
    /// The program and its arguments. A name without a slash is searched for on the `PATH` of
    /// [`environment`](Self::environment).
    pub arguments: Vec<OsString>,
    /// The folder in which it starts.
    pub directory: WorkspacePath,
    /// All variables that it sees; nothing of this process's own environment is added.
    pub environment: Vec<(OsString, OsString)>,
    /// How long it may take. When the time is up the view ends, with everything in it.
    pub time: Duration,
    /// How many bytes of its output are kept. The rest is read and dropped.
    pub output: usize,
    /// Whether standard output and standard error come together.
    pub streams: Streams,
}

impl Command {
    /// The program with these arguments, in the root of the workspace, with only one variable: a `PATH` of the
    /// system's folders.
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

    /// Adds this variable, in place of an earlier one of the name.
    #[must_use]
    pub fn with_variable(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        let name = name.into();
        self.environment.retain(|(known, _)| *known != name);
        self.environment.push((name, value.into()));
        self
    }
}

/// Which part of a view becomes the change set.
#[derive(Debug, Clone)]
pub struct ReadRules {
    /// How much it may hold.
    pub quota: Quota,
    /// Whether to leave out paths that `.gitignore` files of the view ignore, and build output that they do not name
    /// ([`BUILD_FOLDERS`](crate::BUILD_FOLDERS)). What was shown in the view is never left out.
    pub ignore: bool,
    /// Further folders of build output, which are left out too.
    pub build: Vec<WorkspacePath>,
    /// Ignored paths that are read nevertheless, with everything below them.
    pub keep: Vec<WorkspacePath>,
}

impl ReadRules {
    /// Leaves out what git ignores and build output, and reads up to this quota.
    pub fn new(quota: Quota) -> Self {
        Self { quota, ignore: true, build: Vec::new(), keep: Vec::new() }
    }
}
