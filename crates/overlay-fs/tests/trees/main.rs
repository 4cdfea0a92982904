//! What holds for every tree, shown on the one in memory and on a real disk.
#![expect(clippy::unwrap_used, reason = "the helpers of tests may unwrap as tests do")]

mod change_set;
mod histories;
mod kinds;
mod later;
mod matrix;
mod model;
mod play;
mod world;
