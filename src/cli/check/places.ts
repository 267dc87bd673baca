import { createReadStream, createWriteStream, existsSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { AgentError, messageOf } from "../../errors.ts";
import { LogCopy } from "../../runtime/queries/log-copy.ts";
import type { CopyPart } from "../../runtime/queries/log-copy.ts";
import type { ArtifactReader } from "../../ports/artifact-store.ts";
import type { LogReader } from "../../ports/event-log.ts";
import type { SecretStore } from "../../ports/secret-store.ts";
import type { Spending } from "../../ports/spending.ts";
import type { StatisticsReader } from "../../ports/statistics.ts";
import type { VersionStore } from "../../ports/version-store.ts";
import { readArtifacts } from "../../storage/fs/artifacts.ts";
import { fsSecrets } from "../../storage/fs/secrets.ts";
import { fsVersions } from "../../storage/fs/versions.ts";
import { readDirectory } from "../../storage/sqlite/read-directory.ts";
import { EXIT, Exit } from "../exit.ts";
import { isDatabase, toConnections } from "../logs/connection.ts";
import { explained } from "../logs/explained.ts";
import { openPostgres, openWithHints } from "../logs/open-log.ts";

/** A log that is only read, with its files and secrets. */
export interface OpenPlace {
  readonly log: LogReader;
  readonly artifacts: ArtifactReader;
  readonly secrets: SecretStore;
  /** What was spent; a copy of open turns does not have it. */
  readonly spending?: Spending["list"];
  /** What turns and completions have done; a copy of open turns does not have it. */
  readonly statistics?: StatisticsReader;
  /** The kept versions of the code of agents, which are only read; a database has them under TROUPE_SECRETS_KEY. */
  readonly versions: VersionStore | undefined;
  close(): Promise<void>;
}

/** Opens a log to read it, also while servers write it: a data directory, or a database. */
export async function openPlace(place: string): Promise<OpenPlace> {
  if (isDatabase(place)) return openDatabase(place);
  if (place.endsWith(COPY)) return openCopy(place);
  if (!existsSync(join(place, "log.db")))
    throw new Exit(
      EXIT.unknown,
      `there is no log in ${place}`,
      "give the directory that a server has as --data",
    );
  const hints = { inUse: "", damaged: "start a server of this version once, or restore it from a backup" };
  return openWithHints(place, { ...hints, unusable: "check the directory" }, () => {
    const { log, spending, statistics, close } = readDirectory(place);
    return {
      log,
      spending,
      statistics,
      artifacts: readArtifacts(join(place, "artifacts")),
      secrets: fsSecrets(join(place, "secrets.json")),
      versions: toReadOnly(fsVersions(join(place, "versions"))),
      close: async () => close(),
    };
  });
}

/** About how many turns of a log are open; undefined if that is not counted. */
export async function countOpenTurns(place: string): Promise<number | undefined> {
  const { log, close } = await openPlace(place);
  try {
    const pages = await Promise.all(
      (["waiting", "running", "held"] as const).map((status) => log.list({ status, limit: 1, total: true })),
    );
    return pages.reduce<number | undefined>(
      (sum, { total }) => (sum === undefined || total === undefined ? undefined : sum + total),
      0,
    );
  } finally {
    await close();
  }
}

/** How the name of a file with the copy of the open turns of a server ends. */
const COPY = ".ndjson";

/** Reads a copy of the open turns of a server. It has no secret values, so that code sees others, and no files of runs. */
async function openCopy(file: string): Promise<OpenPlace> {
  const copy = new LogCopy();
  let isWhole = false;
  for await (const line of createInterface(createReadStream(file))) {
    const part = JSON.parse(line) as CopyPart | { readonly type: "end" };
    if (part.type === "end") isWhole = true;
    else copy.add(part);
  }
  if (!isWhole) throw new Exit(EXIT.unavailable, "the copy of the open turns ends too early", "run it again");
  return {
    log: copy.log,
    artifacts: {
      get: async () => undefined,
      // oxlint-disable-next-line require-yield -- It has none.
      async *read(artifactId) {
        throw new AgentError("not_found", `file ${artifactId} is not in a copy of open turns`);
      },
    },
    secrets: { get: async () => "hidden", names: async () => [], async put() {}, async remove() {} },
    versions: copy.versions,
    async close() {},
  };
}

/** Has a running server write a copy of its open turns to a file; returns the path of the file. */
export async function fetchCopy(url: string, directory: string): Promise<string> {
  const token = process.env["TROUPE_TOKEN"] ?? "";
  const headers = token === "" ? {} : { authorization: `Bearer ${token}` };
  let response: Response;
  try {
    response = await fetch(`${url.replace(/\/+$/, "")}/inspect/open-turns`, { headers });
  } catch (thrown) {
    throw new Exit(EXIT.unavailable, `no server answers at ${url}: ${messageOf(thrown)}`);
  }
  if (!response.ok || response.body === null) {
    const { detail = "" } = (await response.json().catch(() => ({}))) as { readonly detail?: string };
    const isTokens = response.status === 401 || response.status === 403;
    throw new Exit(
      isTokens ? EXIT.token : EXIT.unavailable,
      `${url} gives no copy of its open turns (${response.status}): ${detail}`,
      isTokens ? "export TROUPE_TOKEN=…, that of an admin" : "it must be a server of this version",
    );
  }
  const path = join(directory, `open-turns${COPY}`);
  await pipeline(Readable.fromWeb(response.body as never), createWriteStream(path, { mode: 0o600 }));
  return path;
}

async function openDatabase(url: string): Promise<OpenPlace> {
  const log = await explained(() => openPostgres(toConnections(url), { migrate: false, nodes: "any" }));
  const versions = log.versions?.();
  return {
    log,
    spending: (query) => log.spending.list(query),
    statistics: log.statistics,
    artifacts: log.artifacts(),
    secrets: log.secrets(),
    versions: versions && toReadOnly(versions),
    close: () => log.close(),
  };
}

function toReadOnly(store: VersionStore): VersionStore {
  return {
    list: () => store.list(),
    read: (digest) => store.read(digest),
    async keep() {},
    async remove() {},
  };
}
