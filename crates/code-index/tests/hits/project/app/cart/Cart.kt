package shop.cart

/** What a customer is about to buy. */
class Cart(private val lines: MutableList<CartLine> = mutableListOf()) {
    fun add(product: Product, count: Int) {
        require(0 < count) { "count must be positive" }
        val line = lines.find { it.product == product }
        if (line == null) lines += CartLine(product, count) else line.count += count
    }

    fun remove(product: Product) {
        lines.removeAll { it.product == product }
    }

    /** The sum of all lines in cents, before coupons. */
    fun total(): Long = lines.sumOf { it.product.priceCents * it.count }

    fun isEmpty(): Boolean = lines.isEmpty()
}

data class CartLine(val product: Product, var count: Int)
