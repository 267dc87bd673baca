import { messageOf } from "../../errors.ts";

/**
 * The part of a thrown value that a client may read: the first line of its message, without file names of this
 * machine. The whole value goes to our own log. It never throws.
 */
export function errorMessage(thrown: unknown): string {
  const [line = ""] = messageOf(thrown).slice(0, READ_LENGTH).split("\n", 1);
  const text = line.replace(PATH, "[path]").trim().slice(0, SHOWN_LENGTH);
  return text === "" ? "the agent failed without saying why" : text;
}

/** More of a message is not looked at: a message may be as long as its thrower likes. */
const READ_LENGTH = 4_000;
const SHOWN_LENGTH = 1_000;

/** An absolute path, of POSIX or Windows or as a file: URL; not the path of an http URL. */
const PATH = /file:\/\/\S+|(?<![\w:/.])(?:[A-Za-z]:\\|\/)(?:[\w.@+-]+[\\/])+[\w.@+-]*/gu;
