import { fieldOf } from "../../errors.ts";

/**
 * The file and line of an agent's code: that which threw an error, or that which runs now. The file is named by its last
 * folder, because clients must not see the paths of a server. `undefined` if the stack shows no code of an agent.
 */
export function placeOf(thrown?: unknown): string | undefined {
  const stack = thrown === undefined ? currentStack() : fieldOf(thrown, "stack");
  for (const line of typeof stack === "string" ? stack.split("\n") : []) {
    const [, url = "", at = ""] = FRAME.exec(line) ?? [];
    if (url === "" || isOwn(url)) continue;
    return `${url.split("/").slice(-2).join("/")}:${at}`;
  }
  return undefined;
}

/** The frames of this package between the code of an agent and here can be many. */
const FRAMES = 64;

function currentStack(): string | undefined {
  const before = Error.stackTraceLimit;
  Error.stackTraceLimit = FRAMES;
  const { stack } = new Error("the place");
  Error.stackTraceLimit = before;
  return stack;
}

/** A file with its line in a stack of V8: `at chat (file:///app/agents/order.ts:12:5)`. */
const FRAME = /[\s(]((?:file:\/\/|\/|[A-Za-z]:[\\/])[^()]*?):(\d+):\d+\)?$/u;

/** The folder of this package's code, as a URL and as a path. */
const OWN_URL = new URL("../../", import.meta.url).href;
const OWN_PATH = OWN_URL.replace(/^file:\/\//u, "");

function isOwn(url: string): boolean {
  const isInside = url.startsWith(OWN_URL) || url.startsWith(OWN_PATH);
  return isInside || url.includes("/node_modules/");
}
