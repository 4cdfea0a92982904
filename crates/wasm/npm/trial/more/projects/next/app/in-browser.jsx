"use client";

import * as headstart from "headstart";
import { useEffect } from "react";
import { scenario } from "../../../../scenario.mjs";

export function InBrowser() {
  useEffect(() => {
    headstart
      .init()
      .then(() => scenario(headstart))
      .catch((error) => ({ failed: String(error?.stack ?? error) }))
      .then((outcome) => (globalThis.outcome = outcome));
  }, []);
  return null;
}
