//! Builds and checks that cargo alone cannot do.
fn main() {}
