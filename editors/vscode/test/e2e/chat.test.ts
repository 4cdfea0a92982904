import assert from "node:assert/strict";
import { test } from "node:test";
import type { Recording } from "headstart";
import { SETTINGS, openAi, says, wantsSuggestion } from "./open-ai.js";
import { Workbench, until } from "./workbench.js";

const ANSWER = "`top` is in `wordcount/counter.py:3`, not in `nothing/here.py`:\n\n```python\nfrom wordcount import top\n```\n\nThat is all.";
const RECORDING: Recording = { turns: [{ text: ANSWER }, { text: "Second." }, { text: "Third." }], suggestions: [] };

test("code of an answer is copied and inserted, a path opens, and the arrows call prompts back", { timeout: 120_000 }, async () => {
  for (const theme of ["Default High Contrast", "Default High Contrast Light", "Default Dark Modern"]) {
    const workbench = await Workbench.open({ recording: RECORDING, theme });
    const value = () => workbench.input.inputValue();
    try {
      await workbench.openFile("README.md");
      await workbench.press("Control+Home");
      await workbench.send("where is top?");
      await workbench.chat.locator("figure.code", { hasText: "from wordcount import top" }).waitFor();
      await workbench.picture(`chat ${theme}`);
      await workbench.chat.getByRole("button", { name: "Insert" }).click();
      await workbench.editorShows("from wordcount import top# wordcount");
      assert.equal(await workbench.chat.locator("code button.path").count(), 2);
      await workbench.chat.locator("button.path", { hasText: "counter.py:3" }).click();
      await workbench.page.locator(".tab.active", { hasText: "counter.py" }).waitFor();
      await workbench.page.locator(".statusbar-item", { hasText: "Ln 3, Col 1" }).waitFor();
      await workbench.chat.locator("button.path", { hasText: "nothing/here.py" }).click();
      await workbench.page.locator(".statusbar-item", { hasText: "nothing/here.py cannot be opened" }).waitFor();

      await workbench.send("and then?");
      await workbench.chat.locator(".model", { hasText: "Second." }).waitFor();
      await workbench.type("half a tho");
      await workbench.press("ArrowUp");
      assert.equal(await value(), "and then?");
      await workbench.press("ArrowUp", "ArrowUp");
      assert.equal(await value(), "where is top?");
      await workbench.press("ArrowDown", "ArrowDown");
      assert.equal(await value(), "half a tho");
      await workbench.press("ArrowUp", "Enter");
      await workbench.chat.locator(".model", { hasText: "Third." }).waitFor();
      assert.equal(await workbench.chat.locator(".user", { hasText: "and then?" }).count(), 2);
    } finally {
      await workbench.picture(`chat-last ${theme}`);
      await workbench.close();
    }
    if (!process.env.SCREENSHOTS) break;
  }
});

test("an answer is read as Markdown: links say where they lead, HTML is text, and nothing is fetched", { timeout: 120_000 }, async () => {
  const text = `# What there is\n\n- **one** and *two*\n- [the docs](https://example.org/a?b=1), [a command](command:workbench.action.quit), [a file](wordcount/counter.py)\n\n1. first\n2. second\n\n| name | lines |\n|---|--:|\n| \`counter.py\` | 9 |\n\n> quoted\n\n<img src="https://example.org/x.png" onerror="alert(1)"> ![a picture](https://example.org/y.png)\n\n~~gone~~ a_b_c`;
  const workbench = await Workbench.open({ recording: { turns: [{ text }], suggestions: [] } });
  const answer = workbench.chat.locator("article.model");
  const texts = (selector: string) => answer.locator(selector).allTextContents();
  try {
    await workbench.send("what is there?");
    await answer.locator("table").waitFor();
    await workbench.picture("markdown");
    assert.deepEqual([await texts("h4"), await texts("strong"), await texts("em"), await texts("ol li"), await texts("blockquote"), await texts("del")], [["What there is"], ["one"], ["two"], ["first", "second"], ["quoted"], ["gone"]]);
    assert.deepEqual(await texts("td"), ["counter.py", "9"]);
    assert.deepEqual(await texts("a"), ["https://example.org/a?b=1"]);
    const [, links] = await texts("ul li");
    assert.equal(links, "the docs https://example.org/a?b=1, a command command:workbench.action.quit, a file wordcount/counter.py");
    assert.equal(await answer.locator("img").count(), 0);
    const whole = await answer.textContent();
    for (const there of ['<img src="https://example.org/x.png" onerror="alert(1)">', "a picture (https://example.org/y.png)", "a_b_c"]) assert.ok(whole?.includes(there), there);
    await answer.getByRole("button", { name: "wordcount/counter.py" }).click();
    await workbench.page.locator(".tab.active", { hasText: "counter.py" }).waitFor();
  } finally {
    await workbench.picture("markdown-last");
    await workbench.close();
  }
});

test("code of an answer goes into its file after a look at what changes, and nowhere where that is not certain", { timeout: 120_000 }, async () => {
  const code = "```python wordcount/counter.py\n%\n```";
  const answers = ["def count(text: str) -> Counter[str]:\n    # Words are the same in capital letters.\n    return Counter(word.lower() for word in WORD.findall(text))", "def nothing():\n    pass", "x = 1"];
  const fences = [answers[0], answers[1]].map((text) => code.replace("%", text ?? ""));
  const text = `${fences.join("\n\n")}\n\n\`\`\`sh .git/hooks/post.sh\n${answers[2]}\n\`\`\`\n\n\`\`\`python wordcount/fresh.py\n${answers[2]}\n\`\`\``;
  const workbench = await Workbench.open({ recording: { turns: [{ text }], suggestions: [] } });
  const apply = (number: number) => workbench.chat.getByRole("button", { name: "Apply" }).nth(number).click();
  const told = (words: string) => workbench.page.locator(".notification-list-item-message", { hasText: words }).waitFor();
  try {
    await workbench.send("where is top?");
    await workbench.chat.locator("figure.code").nth(3).waitFor();
    await apply(1);
    await told("It is not certain what of wordcount/counter.py");
    await apply(2);
    await told("Nothing is applied to .git/hooks/post.sh");
    await apply(3);
    const yes = workbench.page.locator(".notification-list-item", { hasText: "Apply the code to wordcount/fresh.py?" }).getByRole("button", { name: "Apply" });
    await yes.waitFor();
    await workbench.picture("apply-new");
    await yes.click();
    await workbench.page.locator(".tab.active", { hasText: "fresh.py" }).waitFor();
    await workbench.editorShows("x = 1");
    await apply(0);
    const replaces = workbench.page.locator(".notification-list-item", { hasText: "Apply the code to wordcount/counter.py?" });
    await replaces.getByRole("button", { name: "Apply" }).waitFor();
    await workbench.page.locator(".tab.active", { hasText: "counter.py (staged by headstart)" }).waitFor();
    await workbench.picture("apply");
    await replaces.getByRole("button", { name: "Apply" }).click();
    await workbench.page.locator(".tab.active", { hasText: /^counter\.py/ }).waitFor();
    await workbench.editorShows("# Words are the same in capital letters.");
  } finally {
    await workbench.picture("apply-last");
    await workbench.close();
  }
});

test("from nothing to an answer: a server of one's own is chosen in the chat, and what may be done without a question", { timeout: 120_000 }, async () => {
  const { asked, handlers } = openAi((one) => (wantsSuggestion(one) ? says(JSON.stringify({ suggestion: "" })) : says("Here I am.")));
  handlers?.set("/v1/models", (_request, _body, response) => {
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ data: [{ id: "large" }, { id: "tiny" }] }));
  });
  const workbench = await Workbench.open({ handlers });
  const box = workbench.page.locator(".quick-input-box input").first();
  const rows = workbench.page.locator(".quick-input-list .monaco-list-row");
  try {
    await workbench.openChat();
    await workbench.chat.locator("#welcome .note", { hasText: "No model is chosen yet" }).waitFor();
    await workbench.picture("first");
    await workbench.chat.getByRole("button", { name: "Choose a model" }).first().click();
    await rows.filter({ hasText: "Anthropic" }).waitFor();
    await workbench.picture("pick-model");
    await workbench.type("A server that speaks");
    await workbench.press("Enter");
    await until("it asks where", async () => (await box.inputValue()).startsWith("http"));
    await workbench.press("Control+a");
    await workbench.type("nowhere");
    await workbench.press("Enter");
    await workbench.page.locator(".quick-input-message", { hasText: "begins with http" }).waitFor();
    await workbench.press("Control+a");
    await workbench.type(`http://app.localhost:${workbench.server.port}/v1`);
    await workbench.press("Enter");
    // The names are those that the server lists.
    await rows.filter({ hasText: "tiny" }).waitFor();
    await workbench.type("tiny");
    await workbench.press("Enter");
    await workbench.chat.locator("#model", { hasText: "tiny" }).waitFor();
    await workbench.send("hello");
    await workbench.chat.locator(".model", { hasText: "Here I am." }).waitFor();
    assert.deepEqual([asked[0]?.body.model, asked[0]?.authorization], ["tiny", undefined]);

    await workbench.chat.locator("#mode", { hasText: "Edit" }).click();
    await rows.filter({ hasText: "in force now" }).waitFor();
    await workbench.type("every write asks");
    await workbench.press("Control+a");
    await workbench.type("Ask");
    await workbench.press("Enter");
    await workbench.chat.locator("#mode", { hasText: "Ask" }).waitFor();
  } finally {
    await workbench.picture("first-last");
    await workbench.close();
  }
});

test("several conversations are kept, and one before goes on", { timeout: 120_000 }, async () => {
  const { asked, handlers } = openAi((one) => (wantsSuggestion(one) ? says(JSON.stringify({ suggestion: "" })) : says("As you say.")));
  const workbench = await Workbench.open({ settings: SETTINGS, handlers });
  const prompts = () => workbench.chat.locator(".user").allTextContents();
  try {
    await workbench.send("the first one");
    await workbench.chat.locator(".model").waitFor();
    await workbench.command("headstart: New Conversation");
    await until("the chat is empty", async () => (await prompts()).length === 0);
    await workbench.send("the second one");
    await workbench.chat.locator(".model").waitFor();
    await workbench.command("headstart: Go On with a Conversation");
    const rows = workbench.page.locator(".quick-input-list .monaco-list-row");
    await rows.filter({ hasText: "the second one" }).filter({ hasText: "this one" }).waitFor();
    await workbench.picture("conversations");
    await workbench.type("the first");
    await workbench.press("Enter");
    await until("it is there again", async () => (await prompts()).join() === "the first one");
    await workbench.send("and on");
    await until("it is answered", async () => (await workbench.chat.locator(".model").count()) === 2);
    const { messages } = asked.filter((one) => !wantsSuggestion(one)).at(-1)?.body ?? { messages: [] };
    assert.deepEqual(messages.filter(({ role }) => role === "user").map(({ content }) => content), ["the first one", "and on"]);
    await workbench.reload();
    await workbench.openChat();
    await until("it is that of the next window, too", async () => (await prompts()).join() === "the first one,and on");
  } finally {
    await workbench.picture("conversations-last");
    await workbench.close();
  }
});
