import type { Context, MiddlewareHandler } from "hono";
import { wantsPage } from "./console/add-console.ts";
import type { AppEnv } from "./messages/app-env.ts";
import { pathIn } from "./messages/mount.ts";

/** The files of a web front end, which the server sends as they are (`staticFiles` of troupe/node). */
export interface StaticFiles {
  /** The file at a path of an address, or `undefined` if there is none. */
  find(path: string): StaticFile | undefined;
}

/** A file that a server sends as it is. */
export interface StaticFile {
  /** When it was changed, as in `Last-Modified`. */
  readonly changed: string;
  /** Answers a GET or HEAD request with the whole file, or with the part that the request asks for. */
  send(c: Context): Promise<Response>;
}

/** Serves the files of a front end at all paths that neither the protocol nor an agent has. */
export interface FrontEnd {
  readonly handler: MiddlewareHandler<AppEnv>;
  /** Whether a request is for one of the files, which hold no secret and need no token. */
  isForFile(c: Context<AppEnv>): boolean;
  /** Whether people may come to a path from pages of other sites, by a link. */
  isPage(path: string): boolean;
}

/**
 * Creates the front end of a server. A path without a file is one of the page's own when a browser opens it: it gets
 * `index.html`. `isTaken` says whether the first segment of a path belongs to the server.
 */
export function createFrontEnd(files: StaticFiles, isTaken: (segment: string) => boolean): FrontEnd {
  const isFree = (path: string): boolean => !isTaken(path.split("/", 2)[1] ?? "");
  const find = (c: Context<AppEnv>): StaticFile | undefined => {
    if (c.req.method !== "GET" && c.req.method !== "HEAD") return undefined;
    const path = pathIn(c);
    if (!isFree(path) || (path === "/" && !wantsPage(c))) return undefined;
    return files.find(path) ?? (wantsPage(c) ? files.find(INDEX) : undefined);
  };
  return {
    isForFile: (c) => find(c) !== undefined,
    isPage: isFree,
    async handler(c, next) {
      const file = find(c);
      if (file === undefined) return next();
      if (c.req.header("if-modified-since") === file.changed)
        return new Response(null, { status: 304, headers: HEADERS });
      const { body, status, headers } = await file.send(c);
      const all = new Headers(headers);
      for (const [name, value] of Object.entries(HEADERS)) all.set(name, value);
      return new Response(body, { status, headers: all });
    },
  };
}

const INDEX = "/index.html";

/** A browser asks again whether a file has changed. No page of another site may show one in a frame, where it could steer clicks. */
const HEADERS = {
  "cache-control": "no-cache",
  "content-security-policy": "frame-ancestors 'self'",
  "referrer-policy": "no-referrer",
  vary: "Accept",
  "x-content-type-options": "nosniff",
  "x-frame-options": "SAMEORIGIN",
};
