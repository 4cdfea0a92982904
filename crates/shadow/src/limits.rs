use serde::{Deserialize, Serialize};

/// How much a view may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Limits {
    /// Bytes that may be written, in memory. Beyond them a write fails with `ENOSPC`.
    pub bytes: u64,
    /// Files, folders and links that may be written. Beyond them a write fails with `ENOSPC`.
    pub files: u64,
    /// Processes and threads at the same time. Beyond them a fork fails with `EAGAIN`, or the command is ended,
    /// whichever comes first. As uid 0 on kernels before 6.15, which have no such limit for a namespace, only the
    /// latter.
    pub processes: u64,
    /// Resident bytes of all processes together. Beyond them the command is ended. Checked ten times a second.
    pub memory: u64,
    /// Bytes of address space of one process. Runtimes reserve far more than they use, so this is not a measure of
    /// memory.
    pub address_space: u64,
    /// The size of one file in bytes.
    pub file_bytes: u64,
    /// Open files of one process.
    pub open_files: u64,
    /// The most processors on which its processes run; at least one. All views of a machine get the same ones, the
    /// last of those that the caller may use.
    pub processors: u64,
}

impl Default for Limits {
    /// 512 MiB, 200,000 files, 512 processes, 4 GiB resident, 64 GiB of address space, 1 GiB for one file, 16,384
    /// open files, all processors.
    fn default() -> Self {
        Self {
            bytes: 512 << 20,
            files: 200_000,
            processes: 512,
            memory: 4 << 30,
            address_space: 64 << 30,
            file_bytes: 1 << 30,
            open_files: 16_384,
            processors: u64::MAX,
        }
    }
}
