package shop.auth

/** Signs customers in and out. */
class Login(private val users: UserStore, private val hasher: PasswordHasher) {
    /** Checks a password; after five failures the account is locked for ten minutes. */
    fun checkPassword(name: String, password: String): Session? {
        val user = users.byName(name) ?: return null
        if (user.isLocked()) return null
        if (!hasher.matches(password, user.hash)) {
            users.countFailure(user)
            return null
        }
        return Session.begin(user)
    }

    fun signOut(session: Session) {
        session.end()
    }
}
