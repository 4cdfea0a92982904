import SwiftUI

/// The cart as the customer sees it on a telephone.
struct CartView: View {
    @ObservedObject var model: CartModel

    var body: some View {
        List(model.lines) { line in
            CartRow(line: line)
        }
        .onDelete { model.remove(at: $0) }
    }

    func checkoutButton() -> some View {
        Button("Pay") { model.beginCheckout() }.disabled(model.isEmpty)
    }
}
