import { call, calling, toJson } from "./call.js";
import { rest } from "./init.js";
import { type Fields, optional, options as checked } from "./options.js";
import { raw } from "./raw.js";
import { Sleep } from "./timers.js";
import type { Model, ModelEvent, RecordedOptions, Recording } from "./types.js";

const RECORDED: Fields<RecordedOptions> = { speed: "number" };

/** The clock that stands for the time of a provider and its network. */
const clock = { sleep: (ms: number) => new Sleep(ms, "work") };

/**
 * A model that plays a recording, whatever it is asked: for demonstrations, for tests, and without a key.
 *
 * Turns are played in order, one for each request; after the last one a request is a `ModelError` with the code
 * `recording_exhausted`. Queries for a suggestion take from `suggestions`.
 */
export function recordedModel(recording: Recording, options: RecordedOptions = {}): Model {
  const speed = checked("options", options, RECORDED).speed ?? 1;
  const recorded = call(() => new raw.RecordedHandle(toJson("recording", recording), speed, clock));
  return {
    async *stream(request, signal): AsyncGenerator<ModelEvent> {
      optional("signal", signal, "signal");
      signal?.throwIfAborted();
      await rest();
      const answer = call(() => recorded.stream(toJson("request", request)));
      const stop = () => answer.cancel();
      signal?.addEventListener("abort", stop);
      try {
        for (;;) {
          const event = await calling(() => answer.next());
          signal?.throwIfAborted();
          if (event === undefined) return;
          yield JSON.parse(event as string) as ModelEvent;
        }
      } finally {
        signal?.removeEventListener("abort", stop);
        answer.free();
      }
    },
  };
}
