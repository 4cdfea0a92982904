// A server component: its outcome is in the page that the server sends.
import * as headstart from "headstart";
import { scenario } from "../../../../scenario.mjs";
import { InBrowser } from "./in-browser.jsx";

// The page is made for each request, and not when the project is built.
export const dynamic = "force-dynamic";

export default async function Page() {
  return (
    <main>
      <pre id="server">{JSON.stringify(await scenario(headstart))}</pre>
      <InBrowser />
    </main>
  );
}
