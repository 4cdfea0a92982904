//! What holds for every tree: the one in memory, those of other hosts, and the one on a real disk.
#![expect(clippy::unwrap_used, reason = "the helpers of tests may unwrap as tests do")]

/// Makes a test for every tree of each function, which takes the tree as its type.
macro_rules! on_every_tree {
    ($($name:ident),* $(,)?) => {
        mod in_memory {
            $(#[test] fn $name() { super::$name::<super::MemoryTree>(); })*
        }
        mod answered_later {
            $(#[test] fn $name() { super::$name::<crate::later::Later>(); })*
        }
        mod made_at_once {
            $(#[test] fn $name() { super::$name::<crate::at_once::AtOnce>(); })*
        }
        mod with_coarse_times {
            $(#[test] fn $name() { super::$name::<crate::coarse::Coarse>(); })*
        }
        #[cfg(all(feature = "os", unix))]
        mod on_disk {
            $(#[test] fn $name() { super::$name::<crate::world::Disk>(); })*
        }
    };
}

mod at_once;
mod change_set;
mod coarse;
mod conflicts;
mod histories;
mod kinds;
mod later;
mod matrix;
mod model;
mod play;
mod replace;
mod world;
