import { inspect } from "node:util";

/** Prints a fault that no caller hears of; what agents put into it cannot steer the terminal. */
export function printFault(message: string, detail?: unknown): void {
  console.error(toPlain(`troupe: ${message}`));
  if (detail === undefined) return;
  const text = detail instanceof Error ? (detail.stack ?? detail.message) : inspect(detail);
  console.error(toPlain(text.slice(0, LIMIT)).replaceAll(/^/gm, "  "));
}

const LIMIT = 4_000;

function toPlain(text: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are what has to go
  return text.replaceAll(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/g, " ");
}
