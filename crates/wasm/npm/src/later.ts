/** The source of the rest of a module whose first part is enough to begin a conversation. */
export interface Later {
  fetched(): Promise<Response>;
  /** For callers that cannot wait; `undefined` if there is no such way. */
  atOnce(): BufferSource | undefined;
}
