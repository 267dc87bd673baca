import { realpathSync, statSync } from "node:fs";
import type { Stats } from "node:fs";
import { join, relative, resolve, sep } from "node:path";
import { serveStatic } from "@hono/node-server/serve-static";
import { AgentError } from "../errors.ts";
import type { StaticFiles } from "../http/static-files.ts";

/**
 * The files of a directory, for the option `files` of `serve`: what the build of a web front end has written. Hidden files are
 * left out, and links that lead out of the directory are not followed. Fails with `invalid_request` if there is no such directory.
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
      const isDirectory = statOf(join(root, name))?.isDirectory() === true;
      const file = realOf(join(root, name, isDirectory ? "index.html" : ""));
      const stats = file === undefined ? undefined : statOf(file);
      if (file === undefined || stats?.isFile() !== true) return undefined;
      const base = realOf(root) ?? root;
      // A link may lead out of the directory, or to something hidden.
      if (!NAME.test(`/${relative(base, file).replaceAll(sep, "/")}`)) return undefined;
      const send = serveStatic({ root: base, path: relative(base, file) });
      return {
        changed: stats.mtime.toUTCString(),
        send: async (c) => (await send(c, async () => {})) ?? c.notFound(),
      };
    },
  };
}

/** Where a path leads to; `undefined` if there is nothing, or it may not be read. */
function realOf(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
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
