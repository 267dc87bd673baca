import { appendFileSync, readFileSync } from "node:fs";

/** What a client was told, in the order in which it heard it. */
export type Heard =
  /** An event out of a stream, as it came. */
  | { readonly kind: "event"; readonly requestId: string; readonly id: number; readonly text: string }
  /** A request was taken. */
  | { readonly kind: "accepted"; readonly requestId: string }
  /** An answer to a wait was taken. */
  | { readonly kind: "resumed"; readonly requestId: string; readonly waitId: number }
  /** A cancel was taken. */
  | { readonly kind: "canceled"; readonly requestId: string }
  /** Something that no client should ever hear. */
  | { readonly kind: "complaint"; readonly requestId: string; readonly what: string };

/** The memory of the clients: a file that outlives every server. */
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

/** The values in a file of one JSON text a line; a last line that was cut short is none. */
export function readLines(path: string): unknown[] {
  return readFileSync(path, "utf8")
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as unknown);
}
