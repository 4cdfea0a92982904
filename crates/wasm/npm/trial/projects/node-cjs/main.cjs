const headstart = require("headstart");

async function main() {
  const { scenario } = await import("../../scenario.mjs");
  // One package, however it is asked for: else an `instanceof` of its errors would depend on it.
  const imported = await import("headstart");
  if (imported.HeadstartError !== headstart.HeadstartError) throw new Error("import and require load the package twice");
  console.log(JSON.stringify(await scenario(headstart)));
}

main();
