import { join } from "node:path";
import { readNote, URL_NOTE } from "./serve/write-note.ts";

/** Where a command looks for a server, and how it knows. */
export interface ServerUrl {
  readonly url: string;
  readonly source: "option" | "TROUPE_URL" | "note" | "default";
}

/**
 * The address of the server that a command talks to: the option, TROUPE_URL, what `dev` or `serve` has noted in the data
 * directory of the working directory, or port 4100.
 */
export function findServerUrl(option: string | undefined, data = ".troupe"): ServerUrl {
  if (option !== undefined) return { url: option, source: "option" };
  const { TROUPE_URL: variable = "" } = process.env;
  if (variable !== "") return { url: variable.replace(/\/+$/, ""), source: "TROUPE_URL" };
  const noted = readNote(join(data, URL_NOTE));
  if (noted !== undefined) return { url: noted, source: "note" };
  return { url: "http://127.0.0.1:4100", source: "default" };
}
