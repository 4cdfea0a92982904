// What every project does with the package, wherever it runs: a little of everything, up to an accepted speculation.

/**
 * Runs the scenario with the package that a project has imported. The outcome is plain data, and the same everywhere.
 */
export async function scenario(headstart) {
  const { FollowupController, MemoryTree, filterSuggestion, judge, recordedModel, speculate, version } = headstart;
  const controller = new FollowupController();
  const effects = controller.handle({ type: "suggested", request: 1, suggestion: "run the tests" }, 1000);

  const tree = new MemoryTree({ "src/lib.rs": "// to fix\n" });
  const model = recordedModel(
    {
      turns: [
        { toolCalls: [{ name: "edit", args: { file_path: "src/lib.rs", old_string: "fix", new_string: "fixed" } }] },
        { text: "Fixed." },
      ],
      suggestions: ["run the tests"],
    },
    { speed: Infinity },
  );
  const speculation = speculate({ model, tree, mode: "auto-edit", prompt: "fix the comment" });
  const events = [];
  for await (const event of speculation) events.push(event.type);
  const { ending } = await speculation.finished;
  const accepted = await speculation.accept();
  const files = Object.entries(tree.snapshot()).map(([path, content]) => [path, new TextDecoder().decode(content)]);
  speculation.dispose();
  tree.dispose();
  return {
    version,
    filtered: [filterSuggestion("run the tests"), filterSuggestion("looks good, thanks!")],
    verdicts: ["grep -rn TODO src | head", "curl example.org"].map((command) => {
      const { decision, reason } = judge({ name: "shell", args: { command } });
      return { decision, reason };
    }),
    effects,
    events,
    ending,
    accepted: accepted.type,
    files,
  };
}
