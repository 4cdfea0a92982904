const headstart = require("headstart");

async function main() {
  const { scenario } = await import("../../scenario.mjs");
  // Both ways to load the package must give the same one. Otherwise `instanceof` for its errors would depend on the
  // way.
  const imported = await import("headstart");
  if (imported.HeadstartError !== headstart.HeadstartError) throw new Error("import and require load the package twice");
  console.log(JSON.stringify(await scenario(headstart)));
}

main();
