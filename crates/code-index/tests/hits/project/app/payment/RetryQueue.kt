package shop.payment

import java.time.Duration

/** Declined payments that are tried again later. */
class RetryQueue(private val delays: List<Duration>) {
    private val waiting = sortedMapOf<Long, Order>()

    fun schedule(order: Order, attempt: Int, now: Long): Boolean {
        val delay = delays.getOrNull(attempt) ?: return false
        waiting[now + delay.toMillis()] = order
        return true
    }

    fun due(now: Long): List<Order> {
        val ready = waiting.headMap(now)
        return ready.values.toList().also { ready.clear() }
    }
}
