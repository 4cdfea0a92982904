/// The name and version of this program, for people.
pub fn program() -> String {
    format!("headstart {}", env!("CARGO_PKG_VERSION"))
}
