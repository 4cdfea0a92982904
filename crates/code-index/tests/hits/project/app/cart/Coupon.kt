package shop.cart

/** Takes a share off the total, once for each customer. */
data class Coupon(val code: String, val percent: Int, val validUntil: Long) {
    fun apply(totalCents: Long): Long = totalCents - totalCents * percent / 100
}

object CouponBook {
    private val used = mutableSetOf<Pair<String, Long>>()

    /** Marks the coupon as used; false where the customer has used it before. */
    @Synchronized
    fun redeem(coupon: Coupon, customer: Long): Boolean = used.add(coupon.code to customer)
}
