import { messageOf } from "../../errors.ts";

/**
 * The part of a thrown value that clients may see: the first line of its message, without local file names.
 * The complete value goes to our own log. It never throws.
 */
export function errorMessage(thrown: unknown): string {
  const [line = ""] = messageOf(thrown).slice(0, READ_LENGTH).split("\n", 1);
  const text = line.replace(PATH, "[path]").trim().slice(0, SHOWN_LENGTH);
  return text === "" ? "the agent failed without a message" : text;
}

/** A message can have any length; only this part is read. */
const READ_LENGTH = 4_000;
const SHOWN_LENGTH = 1_000;

/** An absolute path in POSIX or Windows form or as a file: URL, but not the path of an http URL. */
const PATH = /file:\/\/\S+|(?<![\w:/.])(?:[A-Za-z]:\\|\/)(?:[\w.@+-]+[\\/])+[\w.@+-]*/gu;
