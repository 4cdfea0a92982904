//! Plays a history on a tree in memory and, one in eight, in a temporary folder, there with crashes and undos: what the tests
//! do with random ones.
#![no_main]

#[path = "../../tests/trees/model.rs"]
mod model;
#[path = "../../tests/trees/play.rs"]
mod play;
#[path = "../../tests/trees/world.rs"]
mod world;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    play::play::<headstart_overlay_fs::MemoryTree>(bytes, play::Scope::Commits);
    if bytes.last().is_some_and(|last| last % 8 == 0) {
        play::play::<world::Disk>(bytes, play::Scope::All);
    }
});
