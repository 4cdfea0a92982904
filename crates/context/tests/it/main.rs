//! Rules over trees (what is read, what is told and when, and what hostile files come to), and conversations that are too long.

mod conversation;
mod hostile;
mod mentions;
mod reading;
mod support;
mod tools;
mod window;
