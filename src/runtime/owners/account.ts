import { AgentError } from "../../errors.ts";
import type { ArtifactId } from "../../protocol/ids.ts";
import type { OwnerLimits } from "./owner-limits.ts";

/** What an owner uses in this process. */
export class Account {
  readonly owner: string;
  /** The newest limits that are known. */
  limits: OwnerLimits = {};
  /** When they were asked for, by the monotonic clock; absent before the first time. */
  limitsAtMs: number | undefined;
  /** Why they are not known; absent if they are. */
  fault: unknown;
  /** The bytes of all runs and files, as of the newest count. */
  storedBytes = 0;
  storedAtMs: number = -Infinity;
  #openTurns = 0;
  /** The time at which the owner will have used nothing of its rate, by the monotonic clock. */
  #restedAtMs = -Infinity;
  /** The files that no request has attached; created with the first. */
  #files: Map<ArtifactId, UnattachedFile> | undefined;
  /** The bytes of files that are being stored. */
  #arrivingBytes = 0;

  constructor(owner: string) {
    this.owner = owner;
  }

  /** Whether nothing of it is needed any more: a new account says the same. */
  isIdle(nowMs: number): boolean {
    const isRested = this.#restedAtMs <= nowMs && this.#arrivingBytes === 0;
    return isRested && this.#openTurns === 0 && (this.#files?.size ?? 0) === 0;
  }

  /** Turns that work or wait for their start begin or end. */
  openTurns(change: number): void {
    this.#openTurns += change;
  }

  /** Throws `overloaded` if one more turn would be too many. */
  checkOpenTurns(): void {
    const { openTurns: limit = Infinity } = this.limits;
    if (this.#openTurns < limit) return;
    throw new AgentError("overloaded", `${this.owner} has reached its limit of ${limit} open turns`, {
      hint: "make the request again when a turn has ended",
      retryAfterS: OPEN_RETRY_S,
    });
  }

  /** Counts a request; the returned function takes that back. Throws `overloaded`, and counts nothing, if there are too many in a minute. */
  admitRequest(nowMs: number): () => void {
    const { requestsPerMinute: limit = Infinity } = this.limits;
    if (limit === Infinity) return () => {};
    // Each request uses its part of the minute. The owner may be ahead by a minute.
    const eachMs = MINUTE_MS / limit;
    const restedAtMs = Math.max(this.#restedAtMs, nowMs) + eachMs;
    const excessMs = restedAtMs - nowMs - MINUTE_MS;
    if (excessMs <= ROUNDING_MS) {
      this.#restedAtMs = restedAtMs;
      return () => {
        this.#restedAtMs -= eachMs;
      };
    }
    throw new AgentError(
      "overloaded",
      `${this.owner} has reached its limit of ${limit} requests in a minute`,
      { retryAfterS: Math.min(excessMs, MINUTE_MS) / 1_000 },
    );
  }

  /** Throws `insufficient_storage` if its runs and files have too many bytes. */
  checkStored(): void {
    const { storedBytes: limit = Infinity } = this.limits;
    if (this.storedBytes < limit) return;
    throw new AgentError(
      "insufficient_storage",
      `the runs and files of ${this.owner} have reached their limit of ${limit} bytes`,
      { hint: "remove runs that are not needed", retryAfterS: STORED_RETRY_S },
    );
  }

  /** Counts bytes of a file while they arrive. Throws `insufficient_storage` if there is no room for them. */
  arrives(bytes: number, now: number): void {
    const { uploadBytes: limit = Infinity } = this.limits;
    this.#arrivingBytes += bytes;
    if (limit === Infinity) return;
    if (this.#arrivingBytes + this.#unattachedBytes(now) <= limit) return;
    throw new AgentError(
      "insufficient_storage",
      `the files of ${this.owner} that no request has attached have reached their limit of ${limit} bytes`,
      { hint: "attach them to requests; those of a day ago are removed", retryAfterS: STORED_RETRY_S },
    );
  }

  /** A file has arrived, or was refused. */
  arrived(bytes: number, stored?: { readonly artifactId: ArtifactId; readonly at: number }): void {
    this.#arrivingBytes -= bytes;
    if (stored === undefined || this.limits.uploadBytes === undefined) return;
    (this.#files ??= new Map()).set(stored.artifactId, { bytes, at: stored.at });
  }

  /** A request has attached files. */
  attached(files: readonly ArtifactId[]): void {
    for (const artifactId of files) this.#files?.delete(artifactId);
  }

  #unattachedBytes(now: number): number {
    let sum = 0;
    for (const [artifactId, { bytes, at }] of this.#files ?? []) {
      if (now - at < DAY_MS) sum += bytes;
      else this.#files?.delete(artifactId);
    }
    return sum;
  }
}

interface UnattachedFile {
  readonly bytes: number;
  /** Milliseconds since 1970. */
  readonly at: number;
}

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** Sums of parts of a minute may be a little above it. */
const ROUNDING_MS = 1e-6;

const OPEN_RETRY_S = 2;
const STORED_RETRY_S = 60;
