// What the page and the frame that asks the model say to each other.

/** To the frame, with a port for the answer. */
export interface Ask {
  url: string;
  method: string;
  headers: [string, string][];
  body: string;
}

/** From the frame, over the port. Anything from the page over the port means: not wanted any more. */
export type Told =
  | { type: "head"; status: number; statusText: string; headers: [string, string][] }
  | { type: "bytes"; bytes: Uint8Array<ArrayBuffer> }
  | { type: "end" }
  | { type: "error"; message: string };
