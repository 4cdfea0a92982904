// The messages between the page and the frame that makes the requests to the model.

/** A request to the frame. A port for the response is sent with it. */
export interface Ask {
  url: string;
  method: string;
  headers: [string, string][];
  body: string;
}

/** A message of the frame over the port. Any message of the page over the port cancels the request. */
export type Told =
  | { type: "head"; status: number; statusText: string; headers: [string, string][] }
  | { type: "bytes"; bytes: Uint8Array<ArrayBuffer> }
  | { type: "end" }
  | { type: "error"; message: string };
