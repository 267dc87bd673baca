import { existsSync } from "node:fs";
import { join } from "node:path";
import type { ArtifactReader } from "../../ports/artifact-store.ts";
import type { LogReader } from "../../ports/event-log.ts";
import type { SecretStore } from "../../ports/secret-store.ts";
import type { VersionStore } from "../../ports/version-store.ts";
import { readArtifacts } from "../../storage/fs/artifacts.ts";
import { fsSecrets } from "../../storage/fs/secrets.ts";
import { fsVersions } from "../../storage/fs/versions.ts";
import { readDirectory } from "../../storage/sqlite/read-directory.ts";
import { EXIT, Exit } from "../exit.ts";
import { isDatabase, toConnection } from "../logs/connection.ts";
import { explained } from "../logs/explained.ts";
import { openPostgres, openWithHints } from "../logs/open-log.ts";

/** A log that is only read, with its files and secrets. */
export interface OpenPlace {
  readonly log: LogReader;
  readonly artifacts: ArtifactReader;
  readonly secrets: SecretStore;
  /** The kept versions of the code of agents, which are only read; a database has them under TROUPE_SECRETS_KEY. */
  readonly versions: VersionStore | undefined;
  close(): Promise<void>;
}

/** Opens a log to read it, also while servers write it: a data directory, or a database. */
export async function openPlace(place: string): Promise<OpenPlace> {
  if (isDatabase(place)) return openDatabase(place);
  if (!existsSync(join(place, "log.db")))
    throw new Exit(
      EXIT.unknown,
      `there is no log in ${place}`,
      "give the directory that a server has as --data",
    );
  const hints = { inUse: "", damaged: "start a server of this version once, or restore it from a backup" };
  return openWithHints(place, { ...hints, unusable: "check the directory" }, () => {
    const { log, close } = readDirectory(place);
    return {
      log,
      artifacts: readArtifacts(join(place, "artifacts")),
      secrets: fsSecrets(join(place, "secrets.json")),
      versions: toReadOnly(fsVersions(join(place, "versions"))),
      close: async () => close(),
    };
  });
}

async function openDatabase(url: string): Promise<OpenPlace> {
  const log = await explained(() => openPostgres(toConnection(url), { migrate: false, nodes: "any" }));
  const versions = log.versions?.();
  return {
    log,
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
