//! Repositories on a real disk, through the system's git.

mod apply_to_view;
mod folder;
mod head;
mod index;
mod large;
mod locks;
mod objects;
mod offer;
mod private;
mod program;
mod read;
mod refs;
mod repository;
mod settle;
mod snapshot;
mod stamp;
mod steps;
mod stored;
mod unbrought;
mod undone;

pub use program::Git;
pub use read::Reader;
pub use repository::Repository;
pub use snapshot::Snapshot;
pub use undone::Surroundings;
