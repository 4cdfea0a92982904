import * as vscode from "vscode";

/** The page of the chat view. It loads only its own script and style, and communicates only with the extension. */
export function pageHtml(webview: vscode.Webview, extension: vscode.Uri): string {
  const script = webview.asWebviewUri(vscode.Uri.joinPath(extension, "dist", "view.js"));
  const style = webview.asWebviewUri(vscode.Uri.joinPath(extension, "media", "view.css"));
  const nonce = newNonce();
  const policy = `default-src 'none'; style-src ${webview.cspSource}; script-src 'nonce-${nonce}'; form-action 'none'; base-uri 'none'`;
  return `<!DOCTYPE html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta http-equiv="Content-Security-Policy" content="${policy}">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <link rel="stylesheet" href="${style}">
  <title>headstart</title>
</head>
<body>
  <main id="log" role="log" aria-label="Conversation" aria-live="off" tabindex="0">
    <div id="welcome" hidden></div>
    <div id="items"></div>
  </main>
  <section id="question" role="alertdialog" aria-labelledby="question-title" aria-describedby="question-reason" hidden></section>
  <section id="ahead" aria-label="Work ahead" hidden></section>
  <form id="form" aria-label="Prompt">
    <ul id="mentions" aria-label="What may be mentioned" hidden></ul>
    <div id="field">
      <div id="ghost" aria-hidden="true"></div>
      <textarea id="input" rows="1" spellcheck="false" aria-label="Prompt" aria-describedby="hint"></textarea>
    </div>
    <div id="hint"></div>
    <div id="bar">
      <button id="model" type="button" title="Choose a model"></button>
      <button id="mode" type="button" title="Choose what needs no consent"></button>
      <button id="send" type="submit" aria-label="Send">Send</button>
    </div>
  </form>
  <div id="live" role="status" aria-live="polite"></div>
  <script nonce="${nonce}" src="${script}"></script>
</body>
</html>`;
}

function newNonce(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
