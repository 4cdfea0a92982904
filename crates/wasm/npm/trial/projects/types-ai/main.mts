// The types of the AI SDK's messages, in each of its versions.
import type { ModelMessage } from "ai";
import type { ModelMessage as ModelMessage5 } from "ai-5";
import type { ModelMessage as ModelMessage7 } from "ai-7";
import { fromModelMessages, toModelMessages } from "headstart/messages";

/** Messages are taken, and given. */
export function between(older: ModelMessage5[], messages: ModelMessage[], newer: ModelMessage7[]): [ModelMessage5[], ModelMessage[], ModelMessage7[]] {
  const all = toModelMessages({ messages: [...fromModelMessages(older).messages, ...fromModelMessages(messages).messages, ...fromModelMessages(newer).messages] });
  return [all, all, all];
}
