defmodule Shop.Mail.Letters do
  @moduledoc "Letters to customers: orders, refunds, declined payments."

  def order_confirmed(order) do
    %{to: order.customer.email, subject: "Your order #{order.id}", body: render(:order, order)}
  end

  def payment_declined(order, reason) do
    %{to: order.customer.email, subject: "Your payment was declined", body: render(:declined, {order, reason})}
  end

  def unsubscribe_link(customer), do: "/unsubscribe/" <> sign_token(customer.id)

  defp render(template, data), do: Shop.Templates.fill(template, data)
end
