#!/usr/bin/env node
import { EXIT } from "./exit.ts";

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < 22 || (major === 22 && minor < 18)) {
  console.error(`troupe needs Node 22.18 or newer; this is ${process.versions.node}`);
  process.exit(EXIT.usage);
}

// Only now, because an older Node cannot even load what the commands import.
const { runProgram } = await import("./program.ts");
await runProgram(process.argv);
