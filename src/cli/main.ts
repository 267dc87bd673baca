#!/usr/bin/env node
import { EXIT } from "./exit.ts";

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < 22 || (major === 22 && minor < 18)) {
  // oxlint-disable-next-line no-console -- an older Node may not load the module that prints
  console.error(`troupe needs Node 22.18 or newer; this is ${process.versions.node}`);
  process.exit(EXIT.usage);
}

// Imported after the check, because an older Node cannot load the commands.
const { runProgram } = await import("./program.ts");
await runProgram(process.argv);
