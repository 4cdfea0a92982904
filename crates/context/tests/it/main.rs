//! Tests of rules over trees (which are read, when they are told, and what becomes of hostile files), of mentions, and
//! of conversations that are too long.

mod conversation;
mod hostile;
mod mentions;
mod reading;
mod support;
mod tools;
mod window;
