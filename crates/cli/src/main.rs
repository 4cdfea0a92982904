//! headstart.

#[expect(dead_code, unused_imports, reason = "the chat command, which edits lines, is not there yet")]
mod terminal;

fn main() {}
