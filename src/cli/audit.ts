import { existsSync } from "node:fs";
import { join } from "node:path";
import { nextQuery } from "../client/wire/wire.ts";
import { Command, Option } from "./vendor/commander.ts";
import { AUDIT_ACTIONS } from "../ports/audit.ts";
import type { AuditAction, AuditQuery } from "../ports/audit.ts";
import { toAuditRow } from "../runtime/access/audit-row.ts";
import type { AuditRow } from "../runtime/access/audit-row.ts";
import { listPostgresAudit } from "../storage/postgres/inspect.ts";
import { readDirectory } from "../storage/sqlite/read-directory.ts";
import { addConnectionOptions, connectWire, talk } from "./connect.ts";
import type { ConnectionOptions } from "./connect.ts";
import { EXIT, Exit } from "./exit.ts";
import { addDatabase, isDatabase, toConnections } from "./logs/connection.ts";
import { explained } from "./logs/explained.ts";
import { openWithHints } from "./logs/open-log.ts";
import { parseTime, parseWholeNumber } from "./option-values.ts";
import { printTable } from "./print/table.ts";
import { stderr, stdout } from "./print/terminal.ts";
import { toTime } from "./print/text.ts";

interface AuditOptions extends ConnectionOptions {
  readonly log?: string;
  readonly owner?: string;
  readonly by?: string;
  readonly action?: AuditAction;
  readonly run?: string;
  readonly from?: number;
  readonly before?: number;
  readonly limit?: number;
  readonly json: boolean;
}

/** `troupe audit`: who did what. */
export function auditCommand(): Command {
  return addConnectionOptions(new Command("audit"))
    .description(
      "Lists who did what, the newest first. TROUPE_TOKEN must be an operator's, unless --log is given.",
    )
    .option(
      "--log <place>",
      "read a data directory or a database (postgres://…), several times for several, in place of a server",
      addDatabase,
    )
    .option("--owner <name>", "only what concerns this owner")
    .option("--by <id>", "only what this principal did, by its id")
    .addOption(new Option("--action <name>", "only this").choices(AUDIT_ACTIONS))
    .option("--run <id>", "only what was done to this run")
    .option("--from <time>", "only at this time or later, for example 2030-01-31", parseTime)
    .option("--before <time>", "only before this time", parseTime)
    .option("--limit <number>", "at most so many; default: 100, with --json all", parseWholeNumber)
    .option("--json", "print one entry a line as JSON, and all of them", false)
    .addHelpText("after", "\nExample: troupe audit --owner acme --from 2030-01-01 --json > audit.jsonl")
    .action(run);
}

async function run({ json, limit, ...options }: AuditOptions): Promise<void> {
  const wanted = limit ?? (json ? Infinity : TABLE_ROWS);
  const rows: AuditRow[] = [];
  let count = 0;
  for await (const row of readAudit(options, wanted)) {
    count += 1;
    if (json) stdout.json(row);
    else rows.push(row);
  }
  if (count === 0 && !json) stderr.line("nothing of this is in the audit trail");
  printTable(["TIME", "WHO", "ACTION", "OWNER", "WHAT"], rows.map(toCells));
}

/** Reads entries page by page, up to a number of them. */
async function* readAudit(
  options: Omit<AuditOptions, "json" | "limit">,
  wanted: number,
): AsyncGenerator<AuditRow> {
  const { log, owner, by, action, run: runId, from, before, ...connection } = options;
  const query = {
    ...(owner !== undefined && { owner }),
    ...(by !== undefined && { by }),
    ...(action !== undefined && { action }),
    ...(runId !== undefined && { runId }),
    ...(from !== undefined && { from }),
    ...(before !== undefined && { before }),
  };
  const place = log === undefined ? askServer(connection) : openPlace(log);
  try {
    let left = wanted;
    for (let cursor: string | undefined; left > 0;) {
      const page = { ...query, limit: Math.min(left, PAGE), ...(cursor !== undefined && { cursor }) };
      const { rows, next } = await place.list(page);
      yield* rows;
      left -= rows.length;
      if (next === undefined) return;
      cursor = next;
    }
  } finally {
    place.close();
  }
}

/** Where the trail is read. */
interface Place {
  list(
    query: AuditQuery,
  ): Promise<{ readonly rows: readonly AuditRow[]; readonly next?: string | undefined }>;
  close(): void;
}

function askServer(options: ConnectionOptions): Place {
  const wire = connectWire(options);
  return {
    async list({ owner, by, action, runId, from, before, limit, cursor }) {
      const query = {
        limit: String(limit),
        ...(owner !== undefined && { owner }),
        ...(by !== undefined && { by }),
        ...(action !== undefined && { action }),
        ...(runId !== undefined && { run_id: runId }),
        ...(from !== undefined && { from: new Date(from).toISOString() }),
        ...(before !== undefined && { before: new Date(before).toISOString() }),
        ...(cursor !== undefined && { cursor }),
      };
      const { json, headers } = await talk(wire, () => wire.ask("GET", "/audit", { query }));
      const next = nextQuery(headers).get("cursor") ?? undefined;
      return { rows: Array.isArray(json) ? (json as AuditRow[]) : [], next };
    },
    close() {},
  };
}

/** Opens a data directory or a database, which a server may use at the same time. */
function openPlace(place: string): Place {
  if (isDatabase(place)) {
    return {
      async list(query) {
        const { entries, next } = await explained(() => listPostgresAudit(toConnections(place), query));
        return { rows: entries.map(toAuditRow), next };
      },
      close() {},
    };
  }
  if (!existsSync(join(place, "log.db"))) {
    throw new Exit(
      EXIT.unknown,
      `there is no log in ${place}`,
      "give the directory that a server has as --data",
    );
  }
  const hints = { inUse: "", damaged: "start a server of this version once, or restore it from a backup" };
  const { audit, close } = openWithHints(place, { ...hints, unusable: "check the directory" }, () =>
    readDirectory(place),
  );
  return {
    async list(query) {
      const { entries, next } = await explained(() => audit(query));
      return { rows: entries.map(toAuditRow), next };
    },
    close,
  };
}

const TABLE_ROWS = 100;
const PAGE = 1_000;

function toCells({
  at,
  by,
  action,
  owner,
  detail,
  agent,
  run_id,
  request_id,
  count,
}: AuditRow): readonly string[] {
  const what = [agent, run_id, request_id, detail, count === undefined ? undefined : `${count} times`];
  return [
    toTime(at),
    by.name === undefined ? by.id : `${by.name} (${by.id})`,
    action,
    owner,
    what.filter((part) => part !== undefined).join(" "),
  ];
}
