import { statSync } from "node:fs";
import type { Stats } from "node:fs";
import { join, relative, resolve } from "node:path";
import { serveStatic } from "@hono/node-server/serve-static";
import { AgentError } from "../errors.ts";
import type { StaticFiles } from "../http/static-files.ts";

/**
 * The files of a directory, for the option `files` of `serve`: what the build of a web front end has written. Hidden files are
 * left out. Fails with `invalid_request` if there is no such directory.
 *
 * @example
 * await serve(runtime, { port: 4100, files: staticFiles("web/dist") });
 */
export function staticFiles(directory: string): StaticFiles {
  const root = resolve(directory);
  if (statOf(root)?.isDirectory() !== true) {
    throw new AgentError("invalid_request", `there is no directory ${root} of static files`, {
      hint: "build the front end first, or name the directory that its build writes",
    });
  }
  return {
    find(path) {
      const name = toName(path);
      if (name === undefined) return undefined;
      const found = statOf(join(root, name));
      const file = found?.isDirectory() === true ? join(root, name, "index.html") : join(root, name);
      const stats = found?.isDirectory() === true ? statOf(file) : found;
      if (stats?.isFile() !== true) return undefined;
      const send = serveStatic({ root, path: relative(root, file) });
      return {
        changed: stats.mtime.toUTCString(),
        send: async (c) => (await send(c, async () => {})) ?? c.notFound(),
      };
    },
  };
}

function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    // A part of the path is a file, or may not be read.
    return undefined;
  }
}

/** A path of an address as one below the directory; `undefined` if it leads out of it, or to something hidden. */
function toName(path: string): string | undefined {
  let name: string;
  try {
    name = decodeURIComponent(path);
  } catch {
    return undefined;
  }
  return NAME.test(name) ? name : undefined;
}

/** Segments that do not begin with a dot, except the one that RFC 8615 has for public files. */
const NAME = /^(?:\/(?:\.well-known(?=\/)|(?!\.)[^/\\\0:]*))+$/;
