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

/// Whether the terminal is in the chat's mode now.
static ACTIVE: AtomicBool = AtomicBool::new(false);

/// Whether the terminal shows the chat's title, with the user's title saved.
static TITLED: AtomicBool = AtomicBool::new(false);

/// Whether the terminal was asked to distinguish more keys.
static TELLS_KEYS: AtomicBool = AtomicBool::new(false);

/// Whether the alternate screen is shown instead of the one with the lines.
static ALTERNATE: AtomicBool = AtomicBool::new(false);

/// Keeps the terminal of standard output in raw mode, with bracketed paste and reports of its focus, as long as this
/// value lives.
///
/// The terminal is restored when the value is dropped, and before the message of a panic is printed, in whichever
/// thread it happens. It is not restored if a signal kills the process; a host that needs this catches the signal and
/// drops the value.
#[derive(Debug)]
pub struct TerminalGuard(());

impl TerminalGuard {
    /// With `is_titled` the title is saved as well, and restored with the rest. With `tells_keys` the terminal is asked
    /// to distinguish keys that have the same bytes otherwise, such as Enter and Shift-Enter.
    pub fn new(is_titled: bool, tells_keys: bool) -> io::Result<Self> {
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

    /// Restores the terminal for a while.
    pub fn restore(&mut self) {
        restore();
    }

    /// Shows the alternate screen. The screen with the lines stays unchanged behind it.
    pub fn leave_lines(&mut self) -> io::Result<()> {
        ALTERNATE.store(true, Ordering::SeqCst);
        let mut out = io::stdout().lock();
        queue!(out, EnterAlternateScreen, Hide)?;
        out.flush()
    }

    /// Shows the screen with the lines again.
    pub fn go_back_to_lines(&mut self) -> io::Result<()> {
        ALTERNATE.store(false, Ordering::SeqCst);
        let mut out = io::stdout().lock();
        queue!(out, Show, LeaveAlternateScreen)?;
        out.flush()
    }

    /// Takes the terminal over again.
    pub fn take(&mut self) -> io::Result<()> {
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

/// Restores the terminal. Errors are ignored, because nothing can be reported to a terminal that is gone.
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
    // Each screen has a stack of keyboard modes. This one belongs to the screen with the lines.
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
