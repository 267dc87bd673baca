import { inspect } from "node:util";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { fieldOf } from "../errors.ts";

/** The stack of an error with those of its causes, or any other value as Node shows it. It never throws. */
export function toThrownText(thrown: unknown): string {
  const texts: string[] = [];
  for (let value = thrown; value !== undefined && texts.length < CAUSES; value = fieldOf(value, "cause")) {
    texts.push(toOneText(value));
  }
  return texts.join("\ncaused by: ").slice(0, LIMIT);
}

/** The frames of a stack that are in user code: not in Node, in a package or in this program. */
export function ownFrames(stack: string): readonly string[] {
  return stack
    .split("\n")
    .filter((line) => /^\s+at /.test(line) && !FOREIGN.test(line) && !line.includes(OWN));
}

/** The place of a frame as an editor opens it: file relative to the working directory, line and column. */
export function framePlace(frame: string): string | undefined {
  const [, url, path = "", position = ""] = /(file:\/\/)?([^\s()]+?)(:\d+:\d+)\)?$/.exec(frame) ?? [];
  if (path === "") return undefined;
  const file = url === undefined ? path : toPath(url + path);
  return file === undefined ? undefined : relative("", file).replaceAll("\\", "/") + position;
}

const LIMIT = 8_000;
const CAUSES = 4;
const FOREIGN = /node:|<anonymous>|[\\/]node_modules[\\/]/;

/** The path of a file's URL; `undefined` if it is none, because a line of a message can look like a frame. */
function toPath(url: string): string | undefined {
  try {
    return fileURLToPath(url);
  } catch {
    return undefined;
  }
}

/** The folder of this program's code. */
const OWN = new URL("..", import.meta.url).href;

function toOneText(thrown: unknown): string {
  const stack = fieldOf(thrown, "stack");
  if (typeof stack === "string" && stack !== "") return stack;
  try {
    return inspect(thrown);
  } catch {
    return "a value that cannot be printed, because reading it throws";
  }
}
