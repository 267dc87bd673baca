import { enableCompileCache } from "node:module";
import { join } from "node:path";

/** `npm start`: start.ts with a cache of what is compiled. This file is no TypeScript, so that Node need not load its compiler. */

// The server is a child process, which gets the cache from the environment.
process.env["NODE_COMPILE_CACHE"] ??= join(import.meta.dirname, "../node_modules/.cache/troupe");
enableCompileCache(process.env["NODE_COMPILE_CACHE"]);
await import("./start.ts");
