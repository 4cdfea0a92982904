//! A copy-on-write view of a workspace at its own path, made by the kernel: a command may write in it, and none of
//! the user's files change.
//!
//! A [`View`] is a set of Linux namespaces with an overlayfs over the workspace, mounted at the workspace's own
//! absolute path, in a root folder that shows the system's folders for reading and nothing else of the machine: no
//! network, no socket, no process, no home folder. An unprivileged user can start one in milliseconds, and it is gone
//! with its last process. [`View::show`] writes what is staged into it, [`View::run`] runs a command,
//! [`View::start_program`] a program with pipes that stays, and [`View::read_back`] returns what the view holds that
//! the workspace does not, as a [`ChangeSet`](headstart_overlay_fs::ChangeSet) that
//! [`Workspace::commit`](headstart_overlay_fs::Workspace::commit) accepts.
//!
//! The processes of a view are the host's own binary, started again: `main` has to call [`entry`] before anything else.
//!
//! ```no_run
//! use std::process::ExitCode;
//! use std::time::Duration;
//!
//! use headstart_overlay_fs::Quota;
//! # #[cfg(feature = "os")]
//! use headstart_shadow::{Command, Options, ReadRules, View};
//!
//! # #[cfg(feature = "os")]
//! fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
//!     if let Some(code) = headstart_shadow::entry(std::env::args_os()) {
//!         return Ok(code);
//!     }
//!     let mut view = View::start(&Options::new("/home/ada/project"))?;
//!     let output = view.run(&Command::shell("cargo fmt", Duration::from_secs(60)))?;
//!     let tree = headstart_overlay_fs::OsTree::open("/home/ada/project")?;
//!     let back = view.read_back(&tree, &ReadRules::new(Quota::default()))?;
//!     println!("{:?}, {} changes", output.end, back.changes.changes.len());
//!     Ok(ExitCode::SUCCESS)
//! }
//! # #[cfg(not(feature = "os"))]
//! # fn main() {}
//! ```
//!
//! A command that only reads needs no view: [`Confinement`] restricts it to that on the real files.
//!
//! # What a view guarantees
//!
//! * Nothing outside the view (and [`Options::shared`]) changes, whatever a command in it does: everything except the
//!   view and a few empty folders is mounted read-only, no capability is left, and the kernel refuses the calls that
//!   could undo that.
//! * No network (except with [`Network::Machine`]), no Unix socket, no process and no terminal of the host is
//!   reachable, and no file can be read outside the system's folders, the folders of programs, the caches of package
//!   managers (without their credentials) and the workspace.
//! * What is written is limited in bytes and files; a command is limited in time, processes, memory and output.
//! * When the [`View`] is dropped, or the process that holds it dies, all processes of the view end and everything
//!   that was written is gone.
//!
//! # Limitations
//!
//! * Linux 6.6 or later, with user namespaces for this user, and overlayfs in them; without the latter a view begins with a copy ([`Tier`]), which takes
//!   longer and is only made of small workspaces. [`support`] says what is missing, by trying.
//! * A workspace that holds other mounts is refused: an overlay would show what lies below them.
//! * The workspace must not be edited in place while a command reads it: for overlayfs the result is undefined. What
//!   was edited since the view started, and changed in the view as well, is listed in [`ReadBack::changed_meanwhile`]
//!   and not read back.
//! * Renaming an existing folder of the workspace gives `EXDEV` in a view; `mv` copes with that, `rename(2)` alone
//!   does not.
//! * Everything that is written lies in memory and is gone with the view, including build output, unless
//!   [`Options::build`] gives that a folder on a disk.
//! * Debuggers and `strace` do not work in a view. Files of owners other than the user cannot be changed in it.
//! * `.git` is shown, and may be written in the view; it is never read back. [`ReadBack::git`] says that it was written.
//! * The kernel limits uid 0 less than other users. Before Linux 6.15 the number of its processes is only counted by
//!   the view's own first process, and a program that starts them faster than that can fill the machine's process
//!   table.
//!
//! # Features
//!
//! * `os` (off by default): views and confined commands on Linux. Without it the crate consists of values, tables and
//!   rules, and builds for `wasm32`. On systems other than Linux the feature adds a [`View`] that cannot be started,
//!   and confined commands that do not run.
//!
//! # Decisions that are not obvious
//!
//! - **A view may be given more than a command gets** (`Options::shared`, `Options::network`): folders of the home
//!   that are written directly, and the machine's network. This is only for a program of the user's own that cannot
//!   do without. The folders are named one by one, and contain nothing that would be run later (settings, hooks).
//! - **A view is an allow-list** (`src/layout.rs`). Its root folder is empty until something is attached: the
//!   system's folders read-only, the folders of tools and the workspace copy-on-write, empty folders for the rest. So
//!   a folder that nobody thought of is missing, whereas a copy of the machine's root with masks would show it. In
//!   the same way everything is remounted read-only that is not on the list of what may be written
//!   (`src/os/init/root.rs`), because `/proc/sys` in a view that root started is the machine's own. A mount below
//!   something that gets covered is remounted before that, because no path leads to it later.
//! - **Without an overlay a view is a copy behind the same restrictions** (`src/os/copied.rs`). The first process
//!   attaches an empty folder, and the caller fills it through the view's root before any command runs, so that
//!   nothing in the view reads the disk. What was copied is remembered as hashes, and reading back skips whatever has
//!   the same bytes. If the system refuses one of the restrictions, there is no view in any tier.
//! - **What a view holds is read from its upper layer and compared** (`src/os/read.rs`), not recorded while it runs:
//!   bytes decide, not times. The layer is what a hostile command left, so it is reached from handles only, and
//!   nothing in it is opened except folders and regular files. What is shown in a view is written through the mount,
//!   so that only the kernel writes overlayfs's own attributes.
//! - **The time of a file in a view moves forward** (`src/os/show.rs`): if a content comes back after a command, its
//!   file gets a time that is a whole second after that command, because build tools take a result for current if it
//!   is not older than its source. Two clocks matter: the kernel stamps most files by one that is milliseconds
//!   behind, and since Linux 6.13 some by the exact one. So "changed since" asks the first (`since_now_ns`), "later than
//!   all until now" the second (`until_now_ns`).
//! - **The processes of a view are the host's binary** (`src/os.rs`, `entry`). No file has to be installed beside it,
//!   and the first process in a view is one that nobody else can have replaced. It tells the command nothing and
//!   keeps no capability. The program is run once, with an empty environment; the first process is a fork of that
//!   one. Nothing of the host's memory is in either, and no lock can be held for ever in the copy, because the kernel
//!   makes a user namespace only for a process without other threads.
//! - **What does not depend on the plan comes before the plan** (`src/os/init.rs`, `Prepared`). A view's processes
//!   may wait for it, with namespaces and nothing of any workspace. They are discarded if something was mounted
//!   since, because their copy of the mounts would lack it.
//! - **A program that runs in a view may change what is being written into the view** (`src/os/show.rs`). So each
//!   path is opened from the view's root without following a link, a mode is changed by a handle, and an attempt that
//!   does not come to an end is given up.

mod confinement;
#[cfg(all(feature = "os", not(target_os = "linux")))]
mod elsewhere;
mod error;
mod folders;
#[cfg(feature = "os")]
#[expect(clippy::disallowed_types, reason = "a confined command is a process with a pipe")]
mod host_pipe;
mod layout;
mod limits;
mod options;
#[cfg(all(feature = "os", target_os = "linux"))]
#[expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a view is made of processes and files; the other half of the crate has none"
)]
mod os;
mod reading;
mod report;
mod tier;

pub use confinement::{Confinement, NOT_CONFINED};
#[cfg(all(feature = "os", not(target_os = "linux")))]
pub use elsewhere::{
    KillHandle, Prepared, View, build_folders, can_confine, confined_entry, entry, open_folder_around,
    remove_folder, support, wait_for_later_times,
};
pub use error::{Refusal, ShadowError};
pub use folders::{BUILD_FOLDERS, BuildFolder, TOOL_FOLDERS, ToolFolder};
pub use layout::{PathKind, RootEntry, Shown, layout};
pub use limits::Limits;
pub use options::{Beside, BuildLayer, BuildRoom, Command, Network, Options, ReadRules, Streams};
#[cfg(all(feature = "os", target_os = "linux"))]
pub use os::{
    KillHandle, Prepared, View, build_folders, can_confine, confined_entry, entry, open_folder_around,
    remove_folder, support, wait_for_later_times,
};
pub use reading::{Entry, EntryStat, classify};
pub use report::{
    Against, End, NotStaged, NotStagedReason, Output, Program, ReadBack, Refused, Running, Spent, Stream,
    Support, TakenAway,
};
pub use tier::Tier;
