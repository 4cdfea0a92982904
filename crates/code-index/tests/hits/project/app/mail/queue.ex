defmodule Shop.Mail.Queue do
  @max_attempts 4

  def push(letter), do: GenServer.cast(__MODULE__, {:push, letter})

  # A server that answers 4xx is asked again later, one that answers 5xx never.
  def handle_bounce(letter, code) when code in 400..499, do: push_later(letter)
  def handle_bounce(_letter, _code), do: :dropped
end
