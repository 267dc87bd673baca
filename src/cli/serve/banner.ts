import { relative } from "node:path";
import { readVersion } from "../package-version.ts";
import type { Log } from "../print/log.ts";
import { stdout, styled } from "../print/terminal.ts";
import { isDatabase, withoutPassword } from "../logs/connection.ts";
import type { ServerOptions } from "./server-options.ts";
import type { ReadyReport } from "./server-report.ts";

/** What the start-up lines name. */
type Served = Pick<ReadyReport, "url" | "data" | "agents" | "defaultAgent" | "listeners">;

/** Prints the server's address, its data and its agents: some lines for people, or one JSON object. */
export function printBanner(served: Served, options: ServerOptions, log: Log): void {
  const { url, data, agents, listeners } = served;
  const version = readVersion();
  if (options.logFormat === "text") {
    stdout.line(styled("bold", `troupe ${version}`), "  ", styled("cyan", url));
    stdout.lines(toBanner(served, options));
  } else log.info("serving", { url, agents, version, data, wires: options.wires, listeners });
}

function toBanner({ url, data, agents, defaultAgent, listeners }: Served, options: ServerOptions): string {
  const { durability, cluster, wires, console: hasConsole, static: front } = options;
  const names = agents.map((name) => (name === defaultAgent ? `${name} (default)` : name));
  const kept = isDatabase(data)
    ? "in PostgreSQL"
    : durability === "full"
      ? "every event fsynced"
      : "relaxed: a power failure may lose the newest events";
  return [
    ...(hasConsole ? [`console       ${url}/ in a browser`] : []),
    ...(front === undefined ? [] : [`front end     ${url}/${hasConsole ? "index.html" : ""} (${front})`]),
    `agents        ${names.join(", ")}`,
    `data          ${data} (${kept})`,
    ...(cluster === undefined ? [] : [`other nodes   reach this one at ${cluster}`]),
    `wires         ${["native", ...wires].join(", ")}`,
    ...listeners.map(({ name, address }) => `${name.padEnd(13)} ${address}`),
  ].join("\n");
}

/** Where the runs are kept: a directory, or the URL of a database without its password. */
export function toDataPlace({ log, data }: ServerOptions): string {
  return log === undefined ? shortPath(data) : withoutPassword(log);
}

/** A path relative to the working directory, if that is shorter. */
function shortPath(path: string): string {
  const below = relative(process.cwd(), path);
  return below === "" || below.startsWith("..") ? path : below;
}
