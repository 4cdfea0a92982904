package shop.auth

interface PasswordHasher {
    fun hash(password: String): String
    fun matches(password: String, hash: String): Boolean
}

/** Argon2id with 64 MiB and three passes. */
class Argon2Hasher : PasswordHasher {
    override fun hash(password: String): String = Argon2.encode(password, MEMORY_KIB, PASSES)

    override fun matches(password: String, hash: String): Boolean = Argon2.verify(hash, password)

    companion object {
        const val MEMORY_KIB = 65536
        const val PASSES = 3
    }
}
