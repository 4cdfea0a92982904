package shop.cart

/** Pays a part of the total of a cart until it is used up. */
class GiftCard(val code: String, private var leftCents: Long) {
    fun redeem(totalCents: Long): Long {
        val taken = minOf(leftCents, totalCents)
        leftCents -= taken
        return totalCents - taken
    }
}
