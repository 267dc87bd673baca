import { relative } from "node:path";
import { styleText } from "node:util";
import type { ServerOptions } from "./server-options.ts";
import type { ReadyReport } from "./server-report.ts";

/** The start-up lines: the server's address, its data and its agents. */
export function toBanner(
  { url, agents, defaultAgent }: Omit<ReadyReport, "type" | "open">,
  { data, durability }: ServerOptions,
  version: string,
): string {
  const names = agents.map((name) => (name === defaultAgent ? `${name} (default)` : name));
  const kept =
    durability === "full" ? "every event fsynced" : "relaxed: a power failure may lose the newest events";
  return [
    `${styleText("bold", `troupe ${version}`)}  ${styleText("cyan", url)}`,
    `agents        ${names.join(", ")}`,
    `data          ${shortPath(data)} (${kept})`,
  ].join("\n");
}

/** A path relative to the working directory, if that is shorter. */
function shortPath(path: string): string {
  const below = relative(process.cwd(), path);
  return below === "" || below.startsWith("..") ? path : below;
}
