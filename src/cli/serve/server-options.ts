import { toAgentError } from "../../errors.ts";
import { parseTraceUrl } from "../../http/console/trace-url.ts";
import { InvalidArgumentError, Option } from "../vendor/commander.ts";
import type { Command } from "../vendor/commander.ts";
import { LOG_LEVELS } from "../print/log.ts";
import { addDatabase } from "../logs/connection.ts";
import type { LogFormat, LogLevel } from "../print/log.ts";
import { DEFAULT_WIRES, WIRES, isWireFile } from "./wires.ts";

/** The command line options of `dev` and `serve`. */
export interface ServerOptions {
  readonly port: number;
  readonly host: string;
  readonly agents: string;
  readonly data: string;
  readonly durability: "full" | "relaxed";
  /** The URL of a database for the runs, in place of the data directory, or those of several, with spaces between them. */
  readonly log?: string;
  /** Whether the database is used although another node may have it open. */
  readonly single: boolean;
  /** Where the other nodes that use the database reach this one: `http://HOST:PORT`. */
  readonly cluster?: string;
  /** How long after its newest sign of life this node is dead to the others, in seconds. */
  readonly deadAfterSeconds?: number;
  /** How long running turns may go on after a signal, and how long a node of several is still reached, in seconds. */
  readonly drainSeconds: number;
  /** How long an idle connection is kept, in seconds. */
  readonly keepAliveSeconds: number;
  readonly allowedHost: readonly string[];
  readonly allowedOrigin: readonly string[];
  readonly trustProxy: boolean;
  /** The configuration file; absent for `troupe.config.ts`, if there is one. */
  readonly config?: string;
  /** Whether browsers get the console at the root. */
  readonly console: boolean;
  /** The directory of a web front end, whose files are served beside the agents. */
  readonly static?: string;
  /** The protocols besides the native one: names of the package, and paths of files with adapters. */
  readonly wires: readonly string[];
  /** A port for the agentic dialect alone. */
  readonly agentic?: number;
  /** HOST:PORT of an AIP gateway to serve. */
  readonly aip?: string;
  /** HOST:PORT of an AIP gateway to register the agents at. */
  readonly aipJoin?: string;
  /** Files of the key, the certificate and the authority for AIP over TLS. */
  readonly aipKey?: string;
  readonly aipCert?: string;
  readonly aipCa?: string;
  /** Whether AIP may listen where other machines can connect without a certificate. */
  readonly aipInsecure: boolean;
  /** Whether AIP, which has no authentication, is served beside a server that has. */
  readonly aipOpen: boolean;
  readonly acceptLoss: boolean;
  /** Whether the code of the agents is kept, so that open turns continue with the version that began them. */
  readonly keepVersions: boolean;
  /** How the server logs: lines for people, or one JSON object each. */
  readonly logFormat: LogFormat;
  /** From which level on it logs. */
  readonly logLevel: LogLevel;
  /** Days until an idle run is removed; absent: never. */
  readonly retainDays?: number;
  /** Maximum MB of all runs and artifacts; absent: unlimited. */
  readonly retainMb?: number;
  /** The collector of OpenTelemetry that gets the traces, over OTLP. */
  readonly otlp?: string;
  /** The address of a trace where traces are looked at. */
  readonly traceUrl?: string;
}

/** Adds the server options to a command. */
export function addServerOptions(command: Command): Command {
  return command
    .addOption(
      withVariable("PORT", new Option("--port <number>", "port to listen on; 0 uses any free port"))
        .argParser(parsePort)
        .default(4100),
    )
    .addOption(
      withVariable(
        "HOST",
        new Option("--host <address>", "address to bind; any but a loopback address requires TROUPE_TOKEN"),
      ).default("127.0.0.1"),
    )
    .option("--agents <directory>", "directory of the agent files", "agents")
    .option("--data <directory>", "directory for runs and artifacts", ".troupe")
    .addOption(
      withVariable(
        "TROUPE_LOG",
        new Option(
          "--log <url>",
          "keep the runs in this PostgreSQL database: postgres://user@host:5432/database; given several times, in several databases",
        ).argParser(addDatabase),
      ),
    )
    .addOption(
      withVariable(
        "TROUPE_CLUSTER",
        new Option(
          "--cluster <url>",
          "share the database with other nodes, which reach this one at http://HOST:PORT",
        ),
      ),
    )
    .addOption(
      withVariable(
        "TROUPE_DEAD_AFTER_SECONDS",
        new Option(
          "--dead-after-seconds <number>",
          "with --cluster, after so long without a sign of life others continue its runs: 1.5 (default) to 60",
        ),
      ).argParser((text) => parseSeconds(text, 1.5, 60)),
    )
    .option("--single", "use the database of --log although another node may have it open", false)
    .addOption(
      new Option(
        "--durability <degree>",
        "full: fsync every event before clients see it; relaxed: a power failure may lose the newest events",
      )
        .choices(["full", "relaxed"])
        .default("full"),
    )
    .addOption(
      withVariable(
        "TROUPE_DRAIN_SECONDS",
        new Option(
          "--drain-seconds <number>",
          "after SIGTERM, the time for running turns; one of several nodes still answers, and /readyz fails",
        ),
      )
        .argParser((text) => parseSeconds(text, 0))
        .default(5),
    )
    .addOption(
      withVariable(
        "TROUPE_KEEP_ALIVE_SECONDS",
        new Option(
          "--keep-alive-seconds <number>",
          "how long an idle connection is kept; longer than a proxy in front keeps it",
        ),
      )
        .argParser((text) => parseSeconds(text, 1))
        .default(5),
    )
    .option("--allowed-host <name>", "another host name of this server, or * for any; repeatable", gather, [])
    .option("--allowed-origin <origin>", "a web origin that may use this server; repeatable", gather, [])
    .option(
      "--static <directory>",
      "the files of a web front end, served at all paths that are not the protocol's or an agent's",
    )
    .addOption(
      new Option(
        "--wires <names>",
        `the protocols besides the native one, separated by commas: ${WIRES.join(", ")}, paths of files like ./my-wire.ts; or none`,
      )
        .argParser(parseWires)
        .default(DEFAULT_WIRES, DEFAULT_WIRES.join(",")),
    )
    .option("--agentic <port>", "also serve the agentic dialect at the root of this port", parsePort)
    .option("--aip <host:port>", "also serve an AIP gateway (gRPC); port 0 uses any free port")
    .option(
      "--aip-join <host:port>",
      "register the agents at this AIP gateway; they listen on the host of --aip",
    )
    .option("--aip-key <file>", "the private key for AIP over TLS (PEM)")
    .option("--aip-cert <file>", "the certificate for AIP over TLS (PEM)")
    .option(
      "--aip-ca <file>",
      "the authority of AIP's nodes (PEM): only callers with its certificates may connect",
    )
    .option("--aip-insecure", "let other machines use AIP without a certificate", false)
    .option(
      "--aip-open",
      "serve AIP beside authentication: all its clients are a user of owner default",
      false,
    )
    .option(
      "--config <file>",
      "who may use the server: a module that exports authenticate; default: troupe.config.ts, if there is one",
    )
    .option("--trust-proxy", "trust the X-Forwarded headers of a proxy", false)
    .addOption(
      new Option("--log-format <format>", "how the server logs: lines for people, or one JSON object each")
        .choices(["text", "json"])
        .default("text"),
    )
    .addOption(
      withVariable(
        "TROUPE_LOG_LEVEL",
        new Option("--log-level <level>", "from which level on the server logs"),
      )
        .choices(LOG_LEVELS)
        .default("info"),
    )
    .addOption(
      withVariable(
        "TROUPE_OTLP",
        new Option(
          "--otlp <url>",
          "export the traces of all runs, and the metrics, to this collector of OpenTelemetry: http://localhost:4318",
        ),
      ),
    )
    .addOption(
      withVariable(
        "TROUPE_TRACE_URL",
        new Option(
          "--trace-url <url>",
          "where a trace is shown, for the console: http://localhost:16686/trace/{trace}",
        ),
      ).argParser(toTraceUrl),
    )
    .option("--no-keep-versions", "do not keep the code of the agents for the turns that it has begun")
    .option("--accept-loss", "start even if the log has lost entries", false)
    .option("--retain-days <number>", "remove runs that have been idle for this many days", parseAmount)
    .option("--retain-mb <number>", "remove the longest idle runs above this total size", parseAmount);
}

/** Lets an environment variable give an option that is not on the command line; an empty one counts as absent. */
function withVariable(name: string, option: Option): Option {
  return process.env[name] === "" ? option : option.env(name);
}

function parsePort(text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535) {
    throw new InvalidArgumentError("The port must be a whole number from 0 to 65535.");
  }
  return port;
}

function parseSeconds(text: string, least: number, most = MOST_SECONDS): number {
  const seconds = Number(text);
  if (text.trim() === "" || !(seconds >= least && seconds <= most)) {
    throw new InvalidArgumentError(`The value must be a number from ${least} to ${most}.`);
  }
  return seconds;
}

const MOST_SECONDS = 600;

function toTraceUrl(text: string): string {
  try {
    return parseTraceUrl(text);
  } catch (thrown) {
    throw new InvalidArgumentError(toAgentError(thrown).message);
  }
}

function parseWires(text: string): readonly string[] {
  if (text === NO_WIRES) return [];
  return text.split(",").map((name) => {
    if (WIRES.includes(name) || isWireFile(name)) return name;
    const more = `a path of a file begins with ./ or /; ${NO_WIRES} turns them off.`;
    throw new InvalidArgumentError(`The wires are ${WIRES.join(", ")}; ${more}`);
  });
}

/** The word for a server with the native protocol alone. */
const NO_WIRES = "none";

function parseAmount(text: string): number {
  const amount = Number(text);
  if (text.trim() === "" || !Number.isFinite(amount) || amount <= 0) {
    throw new InvalidArgumentError("The value must be a number above 0.");
  }
  return amount;
}

/** Gathers the values of an option that can be repeated. */
export function gather(value: string, before: readonly string[]): string[] {
  return [...before, value];
}
