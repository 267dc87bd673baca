import { appendFileSync, readFileSync } from "node:fs";

/** Everything a client received, in order. */
export type Heard =
  /** An event of a stream, unchanged. */
  | { readonly kind: "event"; readonly requestId: string; readonly id: number; readonly text: string }
  /** A request was accepted. */
  | { readonly kind: "accepted"; readonly requestId: string }
  /** A message, or an operation for a state machine, was accepted. */
  | { readonly kind: "sent"; readonly requestId: string; readonly messageId: string }
  /** An answer to a wait was accepted. */
  | { readonly kind: "resumed"; readonly requestId: string; readonly waitId: number }
  /** A cancel was accepted. */
  | { readonly kind: "canceled"; readonly requestId: string }
  /** An answer that no client should ever get. */
  | { readonly kind: "complaint"; readonly requestId: string; readonly what: string };

/** The memory of the clients: a file that survives every server. */
export interface Journal {
  note(heard: Heard): void;
  read(): Heard[];
}

/** Opens a journal in a file. */
export function openJournal(path: string): Journal {
  appendFileSync(path, "");
  return {
    note: (heard) => appendFileSync(path, `${JSON.stringify(heard)}\n`),
    read: () => readLines(path) as Heard[],
  };
}

/** The values of a file with one JSON text per line; an incomplete last line is ignored. */
export function readLines(path: string): unknown[] {
  return readFileSync(path, "utf8")
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as unknown);
}
