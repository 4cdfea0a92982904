//! What differs from system to system: one module per noun, with the same meaning on each.

mod exit_status;
mod kernel;
mod metadata;
mod names;
mod pipes;
mod private_files;
mod process_group;
mod shell;
pub(crate) mod signals;
mod variables;
mod watchdog;

pub(crate) use exit_status::{code_of, signal_of};
pub(crate) use kernel::Kernel;
pub(crate) use metadata::FileNumbers;
pub(crate) use names::{is_inside, path_in, path_of_bytes, workspace_path};
pub(crate) use pipes::{OutputPipe, input_pipe};
#[cfg(any(feature = "acp", test))]
pub(crate) use private_files::make_executable;
pub(crate) use private_files::{
    PrivateFile, can_write, open_plain, owner_trouble, read_plain, sync_folder, with_permissions,
};
#[cfg(feature = "acp")]
pub(crate) use process_group::end_process;
pub(crate) use process_group::{Group, GroupLeader};
pub(crate) use shell::{find_bash, find_program, is_program, own_program, program_at};
pub(crate) use variables::{users_folder, variable_name, variables};
pub(crate) use watchdog::Lifeline;
#[cfg(unix)]
pub(crate) use watchdog::{WATCHDOG, run_watchdog};
