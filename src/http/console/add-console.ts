import type { Context, Hono } from "hono";
import { AgentError } from "../../errors.ts";
import type { AppEnv } from "../messages/app-env.ts";
import { pathIn } from "../messages/mount.ts";
import type { Mount } from "../messages/mount.ts";
import { reply } from "../messages/reply.ts";
import type { ConsolePages } from "./pages.ts";

/** The first segment of the paths of the console's files. */
const ROOT = "console";

/**
 * Adds the console: its page at the root, for browsers, and its files below `/console/`. All its places are in the
 * fragment of the address, so no other route is needed. It offers to sign in at the path of `signIn`.
 */
export function addConsole(
  app: Hono<AppEnv>,
  { page: plain, files }: ConsolePages,
  mount: Mount,
  signIn: string | undefined,
): void {
  const page = signIn === undefined ? plain : plain.replace("<head>", `<head>\n${toMark(signIn)}`);
  app.get("/", (c, next) => {
    if (!wantsPage(c)) return next();
    const prefix = mount.prefixOf(c);
    // Below a known prefix, the page's address may lack the slash that relative links need.
    const text = prefix === "" ? page : page.replaceAll(`="./${ROOT}/`, `="${prefix}/${ROOT}/`);
    return reply(c, text, { type: "text/html; charset=utf-8", headers: PAGE_HEADERS });
  });
  app.get(`/${ROOT}/:name`, (c) => {
    const name = c.req.param("name");
    const file = files.get(name);
    if (file === undefined) {
      throw new AgentError("not_found", `the console has no file ${JSON.stringify(name.slice(0, 64))}`, {
        hint: "a page that was open while the server got a new version must be loaded again",
      });
    }
    return reply(c, file.text, { type: file.type, headers: FILE_HEADERS });
  });
}

/** Tells the page where people sign in. */
function toMark(signIn: string): string {
  return `    <meta name="troupe-sign-in" content="${signIn.replace(/[^\w/.-]/g, "")}" />`;
}

/** Whether a request is for the console's page or one of its files, which hold no secret and need no token. */
export function isForConsole(c: Context<AppEnv>): boolean {
  if (c.req.method !== "GET" && c.req.method !== "HEAD") return false;
  const path = pathIn(c);
  return path.startsWith(`/${ROOT}/`) || (path === "/" && wantsPage(c));
}

/** Whether the client is a browser that opens the address. Programs accept JSON or anything. */
export function wantsPage(c: Context<AppEnv>): boolean {
  return (c.req.header("accept") ?? "").includes("text/html");
}

/** Everything that the page may do: load its own files, and talk to its own server. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' blob:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "frame-src 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

const PAGE_HEADERS = {
  "content-security-policy": POLICY,
  "cross-origin-opener-policy": "same-origin",
  vary: "Accept, Origin",
};

/** The names of all files contain a hash of their content. */
const FILE_HEADERS = { "cache-control": "public, max-age=31536000, immutable" };
