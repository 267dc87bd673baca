import { resolve } from "node:path";
import { InvalidArgumentError, Option } from "commander";
import type { Command } from "commander";

/** What `dev` and `serve` are told on the command line. */
export interface ServerOptions {
  readonly port: number;
  readonly host: string;
  readonly agents: string;
  readonly data: string;
  readonly durability: "full" | "relaxed";
  readonly allowedHost: readonly string[];
  readonly allowedOrigin: readonly string[];
  readonly trustProxy: boolean;
  readonly acceptLoss: boolean;
  /** How many days an idle run is kept; for ever if absent. */
  readonly retainDays?: number;
  /** How many MB runs and artifacts may take together; any number if absent. */
  readonly retainMb?: number;
}

/** Adds the options of a server to a command. */
export function addServerOptions(command: Command): Command {
  return command
    .option("--port <number>", "port to listen on; 0 takes any free one", parsePort, 4100)
    .option("--host <address>", "address to bind; off loopback TROUPE_TOKEN must be set", "127.0.0.1")
    .option("--agents <directory>", "where the agent files are", "agents")
    .option("--data <directory>", "where runs and artifacts are kept", ".troupe")
    .addOption(
      new Option(
        "--durability <degree>",
        "full: every event is fsynced before anyone sees it; relaxed: a loss of power may cost the newest events",
      )
        .choices(["full", "relaxed"])
        .default("full"),
    )
    .option("--allowed-host <name>", "another name clients may use for this server; repeatable", collect, [])
    .option("--allowed-origin <origin>", "a web origin that may call this server; repeatable", collect, [])
    .option("--trust-proxy", "believe the X-Forwarded headers of the proxy in front", false)
    .option("--accept-loss", "start although the log has lost entries", false)
    .option("--retain-days <number>", "remove a run that has been idle for so long", parseAmount)
    .option("--retain-mb <number>", "remove the runs idle longest when all take more", parseAmount);
}

/** The options as arguments again, with full paths, for a process that runs elsewhere. */
export function toArguments(options: ServerOptions): string[] {
  return [
    `--port=${options.port}`,
    `--host=${options.host}`,
    `--agents=${resolve(options.agents)}`,
    `--data=${resolve(options.data)}`,
    `--durability=${options.durability}`,
    ...options.allowedHost.map((name) => `--allowed-host=${name}`),
    ...options.allowedOrigin.map((origin) => `--allowed-origin=${origin}`),
    ...(options.trustProxy ? ["--trust-proxy"] : []),
    ...(options.acceptLoss ? ["--accept-loss"] : []),
    ...(options.retainDays === undefined ? [] : [`--retain-days=${options.retainDays}`]),
    ...(options.retainMb === undefined ? [] : [`--retain-mb=${options.retainMb}`]),
  ];
}

function parsePort(text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535) {
    throw new InvalidArgumentError("A port is a number from 0 to 65535.");
  }
  return port;
}

function parseAmount(text: string): number {
  const amount = Number(text);
  if (text.trim() === "" || !Number.isFinite(amount) || amount <= 0) {
    throw new InvalidArgumentError("A number above 0 is expected.");
  }
  return amount;
}

function collect(value: string, before: readonly string[]): string[] {
  return [...before, value];
}
