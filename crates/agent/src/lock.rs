use std::sync::{Mutex, MutexGuard, PoisonError};

/// A panic in a port is caught where it happens, so what is behind a lock is whole.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
