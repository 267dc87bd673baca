import { inspect } from "node:util";
import { fieldOf } from "../errors.ts";

/**
 * Prints a fault that is not reported to any caller. Control characters are removed, so that it cannot
 * control the terminal.
 */
export function printFault(message: string, detail?: unknown): void {
  console.error(toPlain(`troupe: ${message}`));
  if (detail === undefined) return;
  console.error(toPlain(toText(detail).slice(0, LIMIT)).replaceAll(/^/gm, "  "));
}

const LIMIT = 4_000;

/** The stack of an error, or Node's representation of any other value. Never throws. */
export function toText(thrown: unknown): string {
  const stack = fieldOf(thrown, "stack");
  if (typeof stack === "string" && stack !== "") return stack;
  try {
    return inspect(thrown);
  } catch {
    return "a value that cannot be printed, because reading it throws";
  }
}

function toPlain(text: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are what has to go
  return text.replaceAll(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/g, " ");
}
