package shop.auth

import java.time.Instant

/** Somebody who is signed in. A session ends by itself after half an hour without a request. */
class Session private constructor(val user: User, private var lastSeen: Instant) {
    fun touch(now: Instant) {
        lastSeen = now
    }

    fun isExpired(now: Instant): Boolean = lastSeen.plusSeconds(IDLE_SECONDS).isBefore(now)

    fun end() {
        SessionStore.remove(this)
    }

    companion object {
        const val IDLE_SECONDS = 1800L

        fun begin(user: User): Session = Session(user, Instant.now()).also(SessionStore::add)
    }
}
