//! Replaces views for other machines on Windows, which has none: each request is refused.

mod stored;

use std::path::Path;

use tokio::io::{AsyncRead, AsyncWrite};

use headstart_machine::context::Context;
use headstart_machine::error::CliError;
pub(crate) use stored::{all as all_copies, remove as remove_copy};

#[expect(clippy::unused_async, reason = "elsewhere it answers until the client has disconnected")]
pub(crate) async fn serve(
    _context: &Context,
    _here: Option<&Path>,
    _input: impl AsyncRead + Unpin,
    _output: impl AsyncWrite + Send + Unpin + 'static,
) -> Result<(), CliError> {
    let why = "there are no views here to serve: only Linux has the namespaces and the overlay that they are made of";
    Err(CliError::Unavailable(why.to_owned()))
}
