//! headstart.
fn main() {}
