import { Command, InvalidArgumentError } from "commander";
import { runConformance } from "../testing/protocol/conformance.ts";
import type { CaseResult } from "../testing/protocol/conformance.ts";
import { ROLES } from "../testing/protocol/roles.ts";
import type { RoleNames } from "../testing/protocol/roles.ts";

/** `troupe conformance URL`: holds any server to the protocol. */
export function conformanceCommand(): Command {
  return new Command("conformance")
    .description("Holds a server, in any language, to the protocol, and says where it differs.")
    .argument("<url>", "where the server is, such as http://127.0.0.1:4100", parseUrl)
    .option("--agent <role=name>", "an agent of yours that fills a role; repeatable", parseRole, {})
    .option("--thorough", "also the cases that take long", false)
    .option("--timeout <ms>", "how long a single answer may take", parseMs, 10_000)
    .option("--json", "print the report as JSON", false)
    .addHelpText(
      "after",
      `\nRoles: ${ROLES.join(", ")}. Cases whose agent is missing are skipped.\nTROUPE_TOKEN is sent as the bearer token.`,
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
  });
  if (json) console.log(JSON.stringify(report, null, 2));
  else console.log(`\n${report.passed} passed, ${report.failed} failed, ${report.skipped} skipped`);
  if (report.failed > 0) process.exitCode = 1;
}

function print({ id, theme, title, outcome, reason }: CaseResult): void {
  const mark = { passed: "ok  ", failed: "FAIL", skipped: "skip" }[outcome];
  console.log(`${mark} ${id.padEnd(4)} ${theme}: ${title}`);
  if (reason !== undefined) console.log(`          ${reason.replaceAll("\n", "\n          ")}`);
}

function parseUrl(text: string): string {
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol)) {
    throw new InvalidArgumentError("It starts with http:// or https://.");
  }
  return text.replace(/\/+$/, "");
}

function parseRole(text: string, before: RoleNames): RoleNames {
  const [role = "", name = ""] = text.split("=");
  if (name === "" || !ROLES.some((known) => known === role)) {
    throw new InvalidArgumentError(`It is ROLE=NAME, and the roles are ${ROLES.join(", ")}.`);
  }
  return { ...before, [role]: name };
}

function parseMs(text: string): number {
  const ms = Number(text);
  if (!Number.isInteger(ms) || ms < 1) throw new InvalidArgumentError("It is a number of milliseconds.");
  return ms;
}
