//! What differs from system to system: one module per noun, with the same meaning on each.

mod exit_status;
mod kernel;
mod metadata;
mod names;
mod pipes;
mod private_files;
mod process_group;
mod shell;
pub mod signals;
mod variables;
mod watchdog;

pub use exit_status::{code_of, signal_of};
pub use kernel::Kernel;
pub use metadata::FileNumbers;
pub use names::{is_inside, path_in, path_of_bytes, workspace_path};
pub use pipes::{OutputPipe, input_pipe};

pub use private_files::make_executable;
pub use private_files::{
    PrivateFile, can_write, open_plain, owner_trouble, read_plain, sync_folder, with_permissions,
};
pub use process_group::end_process;
pub use process_group::{Group, GroupLeader};
pub use shell::{find_bash, find_program, is_program, own_program, program_at};
pub use variables::{users_folder, variable_name, variables};
pub use watchdog::Lifeline;
#[cfg(unix)]
pub use watchdog::{WATCHDOG, run_watchdog};
