import { hostname, networkInterfaces } from "node:os";
import { join } from "node:path";
import { EXIT, Exit } from "./exit.ts";
import { readNote, URL_NOTE } from "./serve/write-note.ts";

/** Where a command looks for a server, and how it knows. */
export interface ServerUrl {
  readonly url: string;
  readonly source: "option" | "TROUPE_URL" | "note" | "default";
}

/**
 * The address of the server that a command talks to: the option, TROUPE_URL, what `dev` or `serve` has noted in the data
 * directory of the working directory, or port 4100. Refuses a note of another machine: in a directory of somebody else it
 * would get the token and the inputs.
 */
export function findServerUrl(option: string | undefined, data = ".troupe"): ServerUrl {
  if (option !== undefined) return { url: option, source: "option" };
  const { TROUPE_URL: variable = "" } = process.env;
  if (variable !== "") return { url: variable.replace(/\/+$/, ""), source: "TROUPE_URL" };
  const file = join(data, URL_NOTE);
  const noted = readNote(file) ?? "";
  if (noted === "") return { url: "http://127.0.0.1:4100", source: "default" };
  if (isOfThisMachine(noted)) return { url: noted, source: "note" };
  throw new Exit(
    EXIT.refused,
    `the server that ${file} names is not on this machine: ${JSON.stringify(noted.slice(0, SHOWN_CHARACTERS))}`,
    "if you know this server, give its address with --url or TROUPE_URL; else remove the file",
  );
}

function isOfThisMachine(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, hostname: name, username } = new URL(url);
  if (protocol !== "http:" || username !== "") return false;
  const host = name.replace(/^\[|\]$/g, "");
  if (host === "localhost" || host === hostname().toLowerCase()) return true;
  if (/^127(\.\d+){3}$/.test(host) || ["0.0.0.0", "::", "::1"].includes(host)) return true;
  return Object.values(networkInterfaces()).some((addresses) =>
    addresses?.some(({ address }) => address === host),
  );
}

const SHOWN_CHARACTERS = 200;
