import { AgentError } from "../../errors.ts";
import { isReservation } from "../../ports/artifact-store.ts";
import { DEFAULT_OWNER } from "../../ports/principal.ts";
import { sha256 } from "../../shared/sha256.ts";
import { ownerIn, seesRun } from "../access/scope.ts";
import type { Scope } from "../access/scope.ts";
import type { ArtifactFigures, StoredArtifact } from "../../ports/artifact-store.ts";
import type { ArtifactId } from "../../protocol/ids.ts";
import type { Upload } from "../api.ts";
import type { Account } from "../owners/account.ts";
import { artifactUrl } from "../artifacts/artifact.ts";
import { sendMessage } from "../run/messages.ts";
import { readRenewed, renewedError } from "../run/renewal.ts";
import type { Queries } from "../queries/queries.ts";
import type { HostContext } from "../run-context.ts";

/** How long a file without a run waits for a request that attaches it. */
const WAIT_MS = 86_400_000;

/** The interval between two checks for such files. */
const LOOKS_MS = 3_600_000;

/** How long a count of these files holds. A store may have to look at all its files. */
const COUNT_MS = 5_000;

/** Stores client files, up to a limit, and removes those that no request attaches within a day. */
export class Uploads {
  readonly #context: HostContext;
  readonly #queries: Queries;
  readonly #unattached: UnattachedFiles;
  #stopTimer: (() => void) | undefined;
  #stopped = false;

  /** Checks for files that were left by an earlier process. */
  constructor(context: HostContext, queries: Queries) {
    this.#context = context;
    this.#queries = queries;
    this.#unattached = new UnattachedFiles(context);
    this.#look();
  }

  /** Stores a file for a run or for a later request. */
  async take(
    { runId, ...file }: Upload,
    scope: Scope,
  ): Promise<{ readonly artifactId: ArtifactId; readonly url: string }> {
    const { environment, files, log, owners, router } = this.#context;
    const account = await owners?.ready(scope.owner);
    if (account) await owners?.checkStored(account);
    const id = environment.newId();
    const artifactId = runId === undefined ? await toOwnFileId(id, scope.owner) : id;
    const url = artifactUrl(artifactId);
    const artifact = { artifactId, createdAt: environment.now(), ...file };
    try {
      if (runId === undefined) {
        await this.#ofOwner(account, artifactId, file.body, (own) =>
          this.#unattached.admit(own, (body) => files.store.put({ ...artifact, owner: scope.owner, body })),
        );
      } else {
        const run = await this.#queries.run(runId, scope);
        const renewed = await readRenewed(log, run);
        if (renewed) throw renewedError(runId, renewed.to);
        const { agent } = run;
        await files.offer({ ...artifact, runId }, ({ name, mimeType, sizeBytes }) =>
          sendMessage(router, runId, {
            kind: "uploaded",
            agent,
            artifact: { artifactId, name, mimeType, sizeBytes, url },
          }),
        );
      }
    } finally {
      this.#came();
    }
    return { artifactId, url };
  }

  /** Stores a file whose bytes count for its owner. */
  async #ofOwner(
    account: Account | undefined,
    artifactId: ArtifactId,
    body: Upload["body"],
    store: (body: Upload["body"]) => Promise<unknown>,
  ): Promise<void> {
    if (account === undefined) {
      await store(body);
      return;
    }
    const { environment } = this.#context;
    let bytes = 0;
    let stored: { readonly artifactId: ArtifactId; readonly at: number } | undefined;
    async function* counted(): AsyncGenerator<Uint8Array, void> {
      for await (const chunk of body) {
        bytes += chunk.byteLength;
        account?.arrives(chunk.byteLength, environment.now());
        yield chunk;
      }
    }
    try {
      await store(counted());
      stored = { artifactId, at: environment.now() };
    } finally {
      account.arrived(bytes, stored);
    }
  }

  stop(): void {
    this.#stopped = true;
    this.#stopTimer?.();
  }

  /** Starts the periodic check. It runs while there are files without a run or reserved ones, and always with several nodes. */
  #came(): void {
    if (this.#stopped) return;
    this.#stopTimer ??= this.#context.environment.timer(LOOKS_MS, () => {
      this.#stopTimer = undefined;
      this.#look();
    });
  }

  #look(): void {
    const { environment, files, log, telemetry } = this.#context;
    files.store.removeUnattached(environment.now() - WAIT_MS).then(
      (kept) => {
        if (kept > 0 || log.node !== undefined) this.#came();
      },
      (error: unknown) => {
        telemetry.fault("old files could not be removed", error);
        this.#came();
      },
    );
  }
}

/**
 * Whether a scope sees a file: one of the runs that it belongs to, or that it waits for a request of its owner, whose mark is
 * in its id then.
 */
export async function seesFile(
  { log }: Pick<HostContext, "log">,
  { artifactId, runIds }: StoredArtifact,
  scope: Scope,
): Promise<boolean> {
  const owner = ownerIn(scope);
  if (owner === undefined && scope.sees === undefined) return true;
  for (const runId of runIds) {
    if (isReservation(runId)) continue;
    const run = await log.run(runId, owner);
    if (run !== undefined && run.removed !== true && seesRun(scope, run)) return true;
  }
  return owner === undefined ? runIds.every(isReservation) : isWaitingFile({ artifactId, runIds }, owner);
}

/**
 * Looks for files, and takes at least some time to refuse a caller that does not see those of all owners: a store answers
 * faster for what does not exist than for what another owner has, and the time must not tell.
 */
export async function refuseEvenly<Result>(
  { environment }: Pick<HostContext, "environment">,
  scope: Scope,
  look: () => Promise<Result>,
): Promise<Result> {
  if (ownerIn(scope) === undefined) return look();
  const { promise: over, resolve } = Promise.withResolvers<void>();
  const stop = environment.timer(REFUSAL_MS * (1 + environment.random() / 2), resolve);
  try {
    const found = await look();
    stop();
    return found;
  } catch (error) {
    await over;
    throw error;
  }
}

/** How long a refusal of a file takes at least, in milliseconds: longer than a store looks for one. Chance adds up to a half. */
const REFUSAL_MS = 25;

/** Whether a file belongs to no run yet, and is one of an owner. */
export async function isWaitingFile(
  { artifactId, runIds }: Pick<StoredArtifact, "artifactId" | "runIds">,
  owner: string,
): Promise<boolean> {
  const [id = "", mark] = artifactId.split(MARK);
  if (!runIds.every(isReservation)) return false;
  return mark === undefined ? owner === DEFAULT_OWNER : (await toOwnFileId(id, owner)) === artifactId;
}

/** The id of a file that belongs to no run yet: that of an owner has the owner's mark, from which it cannot be recovered. */
async function toOwnFileId(id: string, owner: string): Promise<ArtifactId> {
  return owner === DEFAULT_OWNER ? id : `${id}${MARK}${(await sha256(`${id} ${owner}`)).slice(0, 22)}`;
}

/** Before the mark of an owner. */
const MARK = "_of_";

/**
 * Limits the files without a run. They are counted in the store, which other nodes use too, and what this node has stored
 * since is added. A file that a request attaches in the meantime counts until the next count.
 */
class UnattachedFiles {
  readonly #context: HostContext;
  #stored: ArtifactFigures = { files: 0, bytes: 0 };
  #count: Promise<void> | undefined;
  #countedAt = -Infinity;
  /** The bytes that have arrived of each file that is being stored. */
  readonly #open = new Set<{ bytes: number }>();

  constructor(context: HostContext) {
    this.#context = context;
  }

  /** Stores a file, whose bytes are counted while they arrive. Throws `overloaded` as soon as there is no room. */
  async admit<Result>(
    body: Upload["body"],
    store: (body: Upload["body"]) => Promise<Result>,
  ): Promise<Result> {
    await this.#counted();
    const file = { bytes: 0 };
    this.#open.add(file);
    try {
      this.#check();
      const result = await store(this.#measured(body, file));
      this.#stored = { files: this.#stored.files + 1, bytes: this.#stored.bytes + file.bytes };
      return result;
    } finally {
      this.#open.delete(file);
    }
  }

  async *#measured(body: Upload["body"], file: { bytes: number }): AsyncGenerator<Uint8Array, void> {
    for await (const chunk of body) {
      file.bytes += chunk.byteLength;
      this.#check();
      yield chunk;
    }
  }

  #check(): void {
    const { unattachedFiles, unattachedBytes } = this.#context.limits;
    const files = this.#stored.files + this.#open.size;
    let { bytes } = this.#stored;
    for (const open of this.#open) bytes += open.bytes;
    if (files <= unattachedFiles && bytes <= unattachedBytes) return;
    const limit = files > unattachedFiles ? `${unattachedFiles} files` : `${unattachedBytes} bytes`;
    throw new AgentError(
      "overloaded",
      `the files that no request has attached are at their limit of ${limit}`,
      {
        hint: "attach them to requests, or upload files to their run with run_id; those of a day ago are removed",
        retryAfterS: COUNT_MS / 1_000,
      },
    );
  }

  /** Counts the stored files if the last count is too old. */
  #counted(): Promise<void> {
    const now = this.#context.environment.now();
    if (this.#count !== undefined && Math.abs(now - this.#countedAt) < COUNT_MS) return this.#count;
    this.#countedAt = now;
    const count = this.#recount();
    this.#count = count;
    count.catch(() => {
      if (this.#count === count) this.#count = undefined;
    });
    return count;
  }

  async #recount(): Promise<void> {
    const before = this.#stored;
    const { files, bytes } = await this.#context.files.store.unattached();
    // A file that was stored during the count may be included in it.
    this.#stored = {
      files: files + this.#stored.files - before.files,
      bytes: bytes + this.#stored.bytes - before.bytes,
    };
  }
}
