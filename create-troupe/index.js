#!/usr/bin/env node
// `npm create troupe` is `troupe init` of the troupe that is installed with it.
process.argv.splice(2, 0, "init");
await import(new URL("dist/cli/main.js", import.meta.resolve("troupe/package.json")).href);
