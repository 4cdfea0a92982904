//! Reading JSON without derived code, and reading JSON that is still being written: for this crate and for wire
//! formats.

mod fields;
mod object;

pub use fields::{Fields, FromJson};
pub use object::ObjectEnd;
