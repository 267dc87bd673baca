/**
 * What a client may read of something that agent code threw: the first line of its message, without
 * file names of this machine. The rest is for our own logs.
 */
export function errorMessage(thrown: unknown): string {
  const text = thrown instanceof Error ? thrown.message : typeof thrown === "string" ? thrown : "";
  const line = (text.split("\n", 1)[0] ?? "").replace(PATH, "[path]").trim().slice(0, 1_000);
  return line === "" ? "the agent failed without saying why" : line;
}

/** An absolute path, of POSIX or Windows or as a file: URL; not the path of an http URL. */
const PATH = /file:\/\/\S+|(?<![\w:/.])(?:[A-Za-z]:\\|\/)(?:[\w.@+-]+[\\/])+[\w.@+-]*/gu;
