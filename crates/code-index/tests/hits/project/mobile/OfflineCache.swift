import Foundation

/// Keeps the catalogue for when there is no network. The oldest entries go first.
final class OfflineCache {
    private var entries: [String: (data: Data, usedAt: Date)] = [:]
    private let capacityBytes: Int

    init(capacityBytes: Int) { self.capacityBytes = capacityBytes }

    func store(_ data: Data, for key: String) {
        entries[key] = (data, Date())
        evictLeastRecentlyUsed()
    }

    private func evictLeastRecentlyUsed() {
        while totalBytes() > capacityBytes, let oldest = entries.min(by: { $0.value.usedAt < $1.value.usedAt }) {
            entries.removeValue(forKey: oldest.key)
        }
    }

    private func totalBytes() -> Int { entries.values.reduce(0) { $0 + $1.data.count } }
}
