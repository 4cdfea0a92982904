use headstart_overlay_fs::{Change, ChangeSet, LeftOut, Torn};
use headstart_workspace_path::WorkspacePath;
use serde::{Deserialize, Serialize};

use crate::Tier;

/// Whether this system supports views.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Support {
    /// A view was made, and ended.
    Views {
        /// The best tier that works.
        tier: Tier,
        /// Why each better tier does not work.
        against: Vec<Against>,
        /// What else works less well here than it could, and why; may be empty.
        notes: Vec<String>,
    },
    /// None.
    None {
        /// Which call was refused, and the system's words.
        why: String,
    },
}

/// Why a tier does not work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Against {
    /// The tier.
    pub tier: Tier,
    /// Which call was refused, and the system's words.
    pub why: String,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum End {
    /// It ended with this exit code.
    Exited {
        /// The exit code.
        code: i32,
    },
    /// A signal ended it.
    Killed {
        /// The number of the signal.
        signal: i32,
    },
    /// Its time was up; the view has ended too.
    TimeUp,
    /// The view used more memory than it may. All of its running processes were ended.
    Memory,
    /// There were more processes than permitted. All of them were ended.
    Processes,
    /// Build output reached its limit, or the disk its last two percent; the view has ended too.
    Disk,
}

impl End {
    /// Whether the exit code was 0.
    pub fn is_success(self) -> bool {
        self == Self::Exited { code: 0 }
    }
}

/// The pipes of a program that runs in a view while its owner uses the view.
#[derive(Debug)]
pub struct Program {
    /// Its standard input.
    pub stdin: std::io::PipeWriter,
    /// Its standard output, which ends with the last process that holds it.
    pub stdout: std::io::PipeReader,
    /// Its standard error.
    pub stderr: std::io::PipeReader,
}

/// What runs in a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Running {
    /// How the last program ended; `None` if it runs, or none was started.
    pub ended: Option<End>,
    /// The processes of the program.
    pub processes: u64,
    /// Their memory in bytes, without shared pages.
    pub resident: u64,
}

/// Where a piece of output came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Standard output, or both if they are joined.
    Out,
    /// Standard error.
    Err,
}

/// What a command printed, and how it ended. None of its processes is left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// How it ended.
    pub end: End,
    /// Standard output, or both streams together: the first bytes, up to the limit.
    pub stdout: Vec<u8>,
    /// Standard error, if it comes by itself.
    pub stderr: Vec<u8>,
    /// Whether there was more output.
    pub truncated: bool,
    /// What it asked for and a view does not provide.
    pub refused: Refused,
    /// The resources that it took.
    pub spent: Spent,
}

/// The resources of the machine that a command took, all of its processes together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spent {
    /// Processor time.
    pub processor: std::time::Duration,
    /// The most memory at one moment, in bytes, checked ten times a second, and never less than what the largest
    /// process of the view held.
    pub peak_bytes: u64,
}

/// What a command asked for and a view does not provide. If it failed, this may be why.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "several of them may hold, and each is asked for by itself"
)]
pub struct Refused {
    /// Packets that had no route: connections or name lookups that would leave the machine. Traffic on the loopback
    /// does not count.
    pub network: u64,
    /// It wrote until the limit of bytes or of files was reached.
    pub quota: bool,
    /// It asked for more privileges, according to messages of `sudo`, `su` and similar programs.
    pub privileges: bool,
    /// A program that inspects processes reported that it may not: a debugger, `strace`, or a sanitizer of addresses
    /// or of leaks.
    pub tracing: bool,
    /// A program reported that it cannot rename from one file system to another: in a view, a folder of the workspace
    /// as a whole, or something to another part of the view.
    pub renaming: bool,
    /// Paths in the home folder and in the folders of tools that it wrote and that are no caches; they are discarded
    /// with the view. At most 100.
    #[serde(serialize_with = "as_text")]
    pub outside: Vec<std::path::PathBuf>,
}

fn as_text<S: serde::Serializer>(paths: &[std::path::PathBuf], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(paths.iter().map(|path| path.to_string_lossy()))
}

impl Refused {
    /// Whether nothing was refused.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Why something that a command left is not part of the change set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum NotStagedReason {
    /// A FIFO.
    Fifo,
    /// A socket.
    Socket,
    /// A device.
    Device,
    /// The set-user-ID, set-group-ID or sticky bit. The file itself is staged without it.
    SpecialBits,
    /// The permission bits of a folder that exists. It keeps those that it has.
    FolderBits,
    /// A link that is absolute, leads out of the workspace, or steps up from a name; a commit refuses it.
    LinkLeadsOut,
    /// Nobody may read it.
    Unreadable,
    /// It is build output by a name that people also give to folders of their own.
    BuildOutput,
}

/// A path, and why it or something of it is not part of the change set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NotStaged {
    /// The path.
    pub path: WorkspacePath,
    /// The reason.
    pub why: NotStagedReason,
}

/// A file that was removed or emptied and is nowhere else in the change set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakenAway {
    /// Where it was.
    pub path: WorkspacePath,
    /// Its length in bytes.
    pub len: u64,
    /// Whether an earlier command did that, so that what was looked at then need not be looked at again.
    pub is_settled: bool,
}

/// What a view holds that the tree below does not.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReadBack {
    /// All changes, including what was shown. What a command read is not known: the read set only holds the names in
    /// folders that it removed.
    pub changes: ChangeSet,
    /// What could not be staged, or not completely.
    pub not_staged: Vec<NotStaged>,
    /// The topmost paths that were written and that git ignores, or that are build output by their names. They are
    /// not part of the change set.
    pub ignored: Vec<WorkspacePath>,
    /// How much was written and removed at these paths, as far as the files there are not as they are on disk.
    pub left_out: Vec<LeftOut>,
    /// What brings those of these rows that have no obstacle: of each all that was written, or nothing. At most 1,000
    /// files and 64 MiB.
    pub keepable: Vec<Change>,
    /// Those of the changes that git ignores and that are among them nevertheless, because something was removed or
    /// emptied whose only copy they may be.
    pub brought: Vec<WorkspacePath>,
    /// If that copy may be at a place that cannot be read back: what was removed, and where it may be. The changes must
    /// not be committed then.
    pub torn: Option<Torn>,
    /// The files that were removed or emptied, of which git has no copy and no change has one. A copy may be below
    /// `.git`, which is not read here. Nothing where [`torn`](Self::torn) says so already.
    #[serde(skip)]
    pub taken_away: Vec<TakenAway>,
    /// Whether something below `.git` was written. That is not part of the change set either.
    pub git: bool,
    /// Paths that the view changed and that somebody else changed on disk since the view started. They are not part
    /// of the change set: run the command again in a new view.
    pub changed_meanwhile: Vec<WorkspacePath>,
}

/// Messages of programs that cannot get the privileges they need.
#[cfg(all(feature = "os", target_os = "linux"))]
const PRIVILEGES: [&str; 13] = [
    "no new privileges\" flag is set",
    "sudo: effective uid is not 0",
    "sudo: unable to change to root gid",
    "sudo: PERM_SUDOERS",
    "su: Authentication failure",
    "su: must be suid",
    "su: System error",
    "runuser: cannot set groups",
    "runuser: may not be used by non-root users",
    "must be superuser to use",
    "are you root?",
    "doas: not installed setuid",
    "pkexec must be setuid root",
];

/// Messages of programs that may not trace a process, or need more address space than a process may have in a view.
#[cfg(all(feature = "os", target_os = "linux"))]
const TRACING: [&str; 6] = [
    "ptrace: Operation not permitted",
    "PTRACE_TRACEME: Operation not permitted",
    "ptrace(PTRACE_TRACEME, ...): Operation not permitted",
    "LeakSanitizer has encountered a fatal error",
    "LeakSanitizer does not work under ptrace",
    "Perhaps you're using ulimit -v",
];

/// Messages of programs for which the kernel answered `EXDEV`.
#[cfg(all(feature = "os", target_os = "linux"))]
const RENAMING: [&str; 3] = ["cross-device link", "EXDEV", "os error 18"];

/// Messages of programs that have no more room for files.
#[cfg(all(feature = "os", target_os = "linux"))]
const QUOTA: [&str; 2] = ["No space left on device", "ENOSPC"];

/// Searches what a command prints, piece by piece, for the messages of [`Refused`].
#[cfg(all(feature = "os", target_os = "linux"))]
#[derive(Debug, Default)]
pub(crate) struct Listener {
    /// The end of what each stream printed so far, because a message may come in two pieces.
    ends: [Vec<u8>; 2],
    heard: Refused,
}

#[cfg(all(feature = "os", target_os = "linux"))]
impl Listener {
    /// The most bytes of a message.
    const LONGEST: usize = 64;

    pub(crate) fn take(&mut self, stream: Stream, piece: &[u8]) {
        let end = &mut self.ends[usize::from(stream == Stream::Err)];
        end.extend_from_slice(piece);
        let text = String::from_utf8_lossy(end);
        let says = |words: &[&str]| words.iter().any(|said| text.contains(said));
        self.heard.privileges |= says(&PRIVILEGES);
        self.heard.tracing |= says(&TRACING);
        self.heard.renaming |= says(&RENAMING);
        self.heard.quota |= says(&QUOTA);
        end.drain(..end.len().saturating_sub(Self::LONGEST));
    }

    /// Adds the findings to what is known otherwise.
    pub(crate) fn add_to(&self, refused: &mut Refused) {
        refused.privileges |= self.heard.privileges;
        refused.tracing |= self.heard.tracing;
        refused.renaming |= self.heard.renaming;
        refused.quota |= self.heard.quota;
    }
}

#[cfg(all(test, feature = "os", target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn what_is_refused_is_heard_in_whatever_pieces_it_comes() {
        let all: Vec<&str> = [&PRIVILEGES[..], &TRACING, &RENAMING, &QUOTA].concat();
        for said in all {
            assert!(said.len() <= Listener::LONGEST, "{said}");
            for size in [1, 7, 1000] {
                let mut listener = Listener::default();
                for piece in format!("{}{said}\n", "\u{e9} before ".repeat(20)).as_bytes().chunks(size) {
                    listener.take(Stream::Err, piece);
                    // Output of the other stream in between must not matter.
                    listener.take(Stream::Out, b"x");
                }
                let mut refused = Refused::default();
                listener.add_to(&mut refused);
                let of = |words: &[&str]| words.contains(&said);
                let expected = Refused {
                    privileges: of(&PRIVILEGES),
                    tracing: of(&TRACING),
                    renaming: of(&RENAMING),
                    quota: of(&QUOTA),
                    ..Refused::default()
                };
                assert_eq!(refused, expected, "{said} in pieces of {size}");
            }
        }
    }
}
