import { Console } from "node:console";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { styleText } from "node:util";

/** The style of a part of a line. */
export type Style = Parameters<typeof styleText>[0];

/** A part of a line; a plain text has no style. */
export type Part = string | { readonly style: Style; readonly text: string };

/** A part of a line in a style. */
export function styled(style: Style, text: string): Part {
  return { style, text };
}

/**
 * Writes to an output of this process, which is mostly a terminal. A terminal obeys what it gets: characters can move its
 * cursor, hide a text or write to the clipboard. So all texts of the command line go through this class, whoever wrote
 * them, and it replaces every character that is not visible. Styles are added behind that.
 */
export class Terminal {
  readonly #stream: NodeJS.WriteStream;
  readonly #reader: "person" | "program";
  readonly #console: Console;

  /** @param reader Who reads it when it is a file or a pipe. */
  constructor(stream: NodeJS.WriteStream, reader: "person" | "program") {
    this.#stream = stream;
    this.#reader = reader;
    this.#console = new Console(stream);
  }

  /** Whether it is a terminal and not a file or a pipe. */
  get isTTY(): boolean {
    return this.#stream.isTTY;
  }

  /** Prints one line. Line breaks in its parts become spaces, so no part can look like another line. */
  line(...parts: readonly Part[]): void {
    this.#print(parts.map(toPart));
  }

  /** Prints one line that is not wider than the terminal. */
  cutLine(...parts: readonly Part[]): void {
    this.#print(this.#cut(parts.map(toPart)));
  }

  /** Prints a text that has line breaks of its own. */
  lines(text: string): void {
    this.#console.log(toVisible(text));
  }

  /** Prints a value as one line of JSON. It is the same JSON for a program, with the characters escaped. */
  json(value: unknown): void {
    this.#console.log(toJsonText(value));
  }

  /** Writes a part of a text as it comes, without a line break. */
  write(text: string): void {
    this.#stream.write(toVisible(text));
  }

  /** Writes a part of a text that may be data: a program gets it as it is. */
  content(text: string): void {
    this.#stream.write(this.isTTY || this.#reader === "person" ? toVisible(text) : text);
  }

  /** Writes bytes as they are, so not for a terminal. */
  pipe(bytes: Readable): Promise<void> {
    return pipeline(bytes, this.#stream, { end: false });
  }

  /** Writes a line over the one that was written so before. Only for a terminal. */
  redraw(text: string): void {
    this.#stream.write(`\r${CLEAR_LINE}`);
    for (const part of this.#cut([toPart(text)])) this.#stream.write(part.text);
  }

  /** Calls a function once when the output cannot be written. */
  onError(react: (error: NodeJS.ErrnoException) => void): void {
    this.#stream.once("error", (error) => {
      // Each later write fails too.
      this.#stream.on("error", () => undefined);
      react(error);
    });
  }

  #print(parts: readonly StyledPart[]): void {
    const texts = parts.map(({ style, text }) =>
      style === undefined ? text : styleText(style, text, { stream: this.#stream }),
    );
    this.#console.log(texts.join(""));
  }

  #cut(parts: readonly StyledPart[]): readonly StyledPart[] {
    const { columns } = this.#stream;
    const length = parts.reduce((sum, { text }) => sum + text.length, 0);
    if (!this.isTTY || columns === undefined || length <= columns) return parts;
    let left = Math.max(columns - 1, 1);
    const shown: StyledPart[] = [];
    for (const { style, text } of parts) {
      shown.push({ style, text: text.slice(0, left) });
      left -= Math.min(text.length, left);
    }
    return [...shown, { style: undefined, text: "…" }];
  }
}

/** The standard output: what was asked for. */
export const stdout: Terminal = new Terminal(process.stdout, "program");

/** The standard error: everything else that is said to a person. */
export const stderr: Terminal = new Terminal(process.stderr, "person");

/** A text without characters that a terminal would obey, or that are invisible. */
export function toVisible(text: string): string {
  return text.replaceAll("\r\n", "\n").replaceAll(UNSEEN, "�");
}

/** A value as JSON without such characters. */
export function toJsonText(value: unknown): string {
  return JSON.stringify(value).replaceAll(UNSEEN, (character) =>
    character.replaceAll(/./gs, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`),
  );
}

/** Control and format characters, except line breaks, tabs, and the joiners of scripts and emoji. */
// oxlint-disable-next-line no-misleading-character-class -- the joiners are meant alone
const UNSEEN = /(?![\n\t\u200c\u200d])[\p{Cc}\p{Cf}\u2028\u2029]/gu;

/** Clears the line of the cursor. */
const CLEAR_LINE = "\u001b[K";

interface StyledPart {
  readonly style: Style | undefined;
  readonly text: string;
}

function toPart(part: Part): StyledPart {
  const { style, text } = typeof part === "string" ? { style: undefined, text: part } : part;
  return { style, text: toVisible(text).replaceAll("\n", " ") };
}

/** Takes standard output for bytes alone: what this process prints on it from now on goes to standard error. */
export function takeStdout(): WritableStream<Uint8Array> {
  const write = process.stdout.write.bind(process.stdout);
  process.stdout.write = process.stderr.write.bind(process.stderr);
  // A reader that has left reads nothing more.
  process.stdout.on("error", () => {});
  return new WritableStream<Uint8Array>({
    write: (chunk) =>
      new Promise((resolve, reject) => {
        write(chunk, (error) => {
          if (error) reject(error);
          else resolve();
        });
      }),
  });
}
