import { Command, InvalidArgumentError } from "./vendor/commander.ts";
import { isInstance } from "../errors.ts";
import { runConformance } from "../testing/protocol/conformance.ts";
import type { CaseResult } from "../testing/protocol/conformance.ts";
import { Mismatch } from "../testing/protocol/mismatch.ts";
import { ROLES } from "../testing/protocol/roles.ts";
import type { RoleNames } from "../testing/protocol/roles.ts";
import { parseUrl } from "./connect.ts";
import { EXIT, Exit } from "./exit.ts";
import { stdout } from "./print/terminal.ts";

/** `troupe conformance URL`: checks a server against the protocol. */
export function conformanceCommand(): Command {
  return new Command("conformance")
    .description("Checks a server, in any language, against the protocol and reports the differences.")
    .argument("<url>", "address of the server, for example http://127.0.0.1:4100", parseUrl)
    .option("--agent <role=name>", "the name of your agent for a role; repeatable", parseRole, {})
    .option("--thorough", "also run slow cases", false)
    .option("--timeout <ms>", "maximum time for a single answer", parseMs, 10_000)
    .option("--json", "print the report as JSON", false)
    .addHelpText(
      "after",
      `
Roles: ${ROLES.join(", ")}. Cases without an agent are skipped.
TROUPE_TOKEN is sent as the bearer token.

Examples:
  troupe conformance http://127.0.0.1:4100
  troupe conformance http://127.0.0.1:4100 --agent payments=cashier --thorough`,
    )
    .action(run);
}

interface Options {
  readonly agent: RoleNames;
  readonly thorough: boolean;
  readonly timeout: number;
  readonly json: boolean;
}

async function run(baseUrl: string, { agent, thorough, timeout, json }: Options): Promise<void> {
  const token = process.env["TROUPE_TOKEN"];
  const report = await runConformance({
    baseUrl,
    agents: agent,
    thorough,
    timeoutMs: timeout,
    ...(token !== undefined && { token }),
    ...(!json && { onResult: print }),
  }).catch((thrown: unknown) => {
    if (!isInstance(thrown, Mismatch)) throw thrown;
    const hint = "start the server, or correct the URL";
    throw new Exit(EXIT.unavailable, `no server answers at ${baseUrl}: ${thrown.message}`, hint);
  });
  if (json) stdout.json(report);
  else stdout.lines(`\n${report.passed} passed, ${report.failed} failed, ${report.skipped} skipped`);
  if (report.failed > 0) process.exitCode = 1;
}

function print({ id, theme, title, outcome, reason }: CaseResult): void {
  const mark = { passed: "ok  ", failed: "FAIL", skipped: "skip" }[outcome];
  stdout.line(`${mark} ${id.padEnd(4)} ${theme}: ${title}`);
  if (reason !== undefined) stdout.lines(`          ${reason.replaceAll("\n", "\n          ")}`);
}

function parseRole(text: string, before: RoleNames): RoleNames {
  const [role = "", name = ""] = text.split("=");
  if (name === "" || !ROLES.some((known) => known === role)) {
    throw new InvalidArgumentError(`Use ROLE=NAME; the roles are ${ROLES.join(", ")}.`);
  }
  return { ...before, [role]: name };
}

function parseMs(text: string): number {
  const ms = Number(text);
  if (!Number.isInteger(ms) || ms < 1)
    throw new InvalidArgumentError("The timeout must be a whole number of milliseconds, at least 1.");
  return ms;
}
