use std::io::{self, Write};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::cursor::{Hide, Show};
use crossterm::event::{
    DisableBracketedPaste, DisableFocusChange, EnableBracketedPaste, EnableFocusChange,
    KeyboardEnhancementFlags, PopKeyboardEnhancementFlags, PushKeyboardEnhancementFlags,
};
use crossterm::queue;
use crossterm::style::{Print, ResetColor};
use crossterm::terminal::{
    self, Clear, ClearType, EnableLineWrap, EnterAlternateScreen, LeaveAlternateScreen,
};

/// Whether the terminal is in our mode now.
static ACTIVE: AtomicBool = AtomicBool::new(false);

/// Whether its title is ours, with the user's put aside.
static TITLED: AtomicBool = AtomicBool::new(false);

/// Whether it tells more keys apart for us.
static TELLS_KEYS: AtomicBool = AtomicBool::new(false);

/// Whether its screen of its own is shown, beside the one with the lines.
static ALTERNATE: AtomicBool = AtomicBool::new(false);

/// Puts the terminal of standard output into raw mode with bracketed paste and news of its focus for as long as this value lives.
///
/// The terminal is given back when the value is dropped, and before the message of a panic is printed, in whichever
/// thread it happens. Not promised: a process that a signal kills gives nothing back; the host that wants it to
/// catches the signal and drops this value.
#[derive(Debug)]
pub(crate) struct TerminalGuard(());

impl TerminalGuard {
    /// `is_titled`: its title is put aside as well, and comes again with the rest. `tells_keys`: it is asked to tell apart keys that have the same bytes in
    /// others, such as Enter and Shift-Enter.
    pub(crate) fn new(is_titled: bool, tells_keys: bool) -> io::Result<Self> {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let previous = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                restore();
                previous(panic);
            }));
        });
        TITLED.store(is_titled, Ordering::SeqCst);
        TELLS_KEYS.store(tells_keys, Ordering::SeqCst);
        let mut guard = Self(());
        guard.take()?;
        Ok(guard)
    }

    /// Gives the terminal back for a while.
    #[expect(clippy::unused_self, reason = "whoever holds the terminal may give it back")]
    pub(crate) fn give_back(&mut self) {
        restore();
    }

    /// Shows a screen of its own; the one with the lines stays as it is below.
    #[expect(clippy::unused_self, reason = "whoever holds the terminal may change its screen")]
    pub(crate) fn leave_lines(&mut self) -> io::Result<()> {
        ALTERNATE.store(true, Ordering::SeqCst);
        let mut out = io::stdout().lock();
        queue!(out, EnterAlternateScreen, Hide)?;
        out.flush()
    }

    /// Shows the screen with the lines again.
    #[expect(clippy::unused_self, reason = "whoever holds the terminal may change its screen")]
    pub(crate) fn go_back_to_lines(&mut self) -> io::Result<()> {
        ALTERNATE.store(false, Ordering::SeqCst);
        let mut out = io::stdout().lock();
        queue!(out, Show, LeaveAlternateScreen)?;
        out.flush()
    }

    /// Has it again.
    #[expect(clippy::unused_self, reason = "whoever held the terminal may have it again")]
    pub(crate) fn take(&mut self) -> io::Result<()> {
        ACTIVE.store(true, Ordering::SeqCst);
        terminal::enable_raw_mode()?;
        let mut out = io::stdout().lock();
        queue!(out, EnableBracketedPaste, EnableFocusChange)?;
        if TITLED.load(Ordering::SeqCst) {
            queue!(out, Print("\x1b[22;0t"))?;
        }
        if TELLS_KEYS.load(Ordering::SeqCst) {
            let flags = KeyboardEnhancementFlags::DISAMBIGUATE_ESCAPE_CODES;
            queue!(out, PushKeyboardEnhancementFlags(flags))?;
        }
        out.flush()
    }
}

impl Drop for TerminalGuard {
    fn drop(&mut self) {
        restore();
    }
}

/// Does its best: there is nobody left to be told of a terminal that is gone.
fn restore() {
    if !ACTIVE.swap(false, Ordering::SeqCst) {
        return;
    }
    let mut codes = Vec::new();
    if ALTERNATE.swap(false, Ordering::SeqCst) {
        let _ = queue!(codes, LeaveAlternateScreen);
    }
    if TITLED.load(Ordering::SeqCst) {
        codes.extend_from_slice(b"\x1b[23;0t");
    }
    // Each screen has a stack of its own: this one's is that of the screen with the lines.
    if TELLS_KEYS.load(Ordering::SeqCst) {
        let _ = queue!(codes, PopKeyboardEnhancementFlags);
    }
    let _ = queue!(
        codes,
        DisableBracketedPaste,
        DisableFocusChange,
        EnableLineWrap,
        Show,
        ResetColor,
        Clear(ClearType::FromCursorDown)
    );
    if std::thread::panicking() {
        codes.extend_from_slice(b"\r\n");
    }
    let mut out = io::stdout();
    let _ = out.write_all(&codes).and_then(|()| out.flush());
    let _ = terminal::disable_raw_mode();
}
