package shop.payment

/** Talks to the payment provider. */
class PaymentGateway(private val client: HttpClient, private val secret: ByteArray) {
    fun charge(order: Order, card: CardToken): PaymentResult {
        val answer = client.post("/charges", order.toRequest(card))
        return when (answer.status) {
            201 -> PaymentResult.Settled(answer.id)
            402 -> PaymentResult.Declined(answer.reason)
            else -> PaymentResult.Unknown(answer.status)
        }
    }

    fun refund(payment: String, cents: Long): PaymentResult {
        val answer = client.post("/refunds", mapOf("payment" to payment, "cents" to cents))
        return if (answer.status == 201) PaymentResult.Settled(answer.id) else PaymentResult.Declined(answer.reason)
    }

    /** Whether a webhook was signed with our secret (HMAC-SHA256 over the body). */
    fun verifySignature(body: ByteArray, signature: String): Boolean =
        constantTimeEquals(hmacSha256(secret, body).toHex(), signature)
}
