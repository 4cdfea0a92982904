// `headstart/react`: a hook around `attach`. No module is loaded: the controller is handed in.
import { useCallback, useEffect, useRef, useState } from "react";
import { type Attached, type AttachOptions, type ControllerEvent, attach } from "./attach.js";

export { HeadstartError, InputError } from "./errors.js";
export type { AcceptMethod, Controller, ControllerEvent, Editor, Effect, Outcome } from "./attach.js";

export interface FollowupOptions extends Omit<AttachOptions, "controller"> {
  /** A `FollowupController`, made once: `useState(() => new FollowupController())`. `undefined` until it is there. */
  controller: AttachOptions["controller"] | undefined;
  /**
   * The text of a controlled field, so that the ghost follows at once when the page sets a text (for example an empty
   * one after a prompt was sent).
   */
  value?: string | undefined;
}

/** Suggestions in a field. */
export interface Followup {
  /** For the `ref` of an `<input>`, a `<textarea>` or an element with `contenteditable`. */
  ref: (field: HTMLElement | null) => void;
  /** Tells the controller; it does nothing while there is no field, or no controller. */
  tell: (event: ControllerEvent) => void;
  /** What is on screen. */
  suggestion: string | undefined;
}

/**
 * Shows suggestions in a field of a React page, and has its keys: see `attach` of `headstart/attach`.
 *
 * ```jsx
 * const [controller] = useState(() => new FollowupController());
 * const { ref, tell } = useFollowup({ controller, onTab: (text) => send(text) });
 * return <textarea ref={ref} />;
 * ```
 */
export function useFollowup({ controller, value, onTab, onEffect, color, editor }: FollowupOptions): Followup {
  const [field, setField] = useState<HTMLElement | null>(null);
  const [suggestion, setSuggestion] = useState<string>();
  const attached = useRef<Attached>(undefined);
  // The callbacks of the last rendering are used, and a change of them does not attach the field anew.
  const latest = useRef({ onTab, onEffect });
  useEffect(() => void (latest.current = { onTab, onEffect }));
  const takesTab = onTab !== undefined;
  useEffect(() => {
    if (field === null || controller === undefined) return;
    const now = attach(field, {
      controller,
      color,
      editor,
      onTab: takesTab ? (text) => latest.current.onTab?.(text) : undefined,
      onEffect: (effect) => {
        if (effect.type === "show") setSuggestion(effect.suggestion);
        if (effect.type === "hide") setSuggestion(undefined);
        latest.current.onEffect?.(effect);
      },
    });
    attached.current = now;
    return () => {
      now.detach();
      attached.current = undefined;
      setSuggestion(undefined);
    };
  }, [field, controller, color, editor, takesTab]);
  useEffect(() => {
    if (value !== undefined) attached.current?.tell({ type: "edited", text: value });
  }, [value]);
  const tell = useCallback((event: ControllerEvent) => attached.current?.tell(event), []);
  return { ref: setField, tell, suggestion };
}
