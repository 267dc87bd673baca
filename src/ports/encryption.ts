import { AgentError } from "../errors.ts";
import type { RunId } from "../protocol/ids.ts";

/**
 * Encrypts what owners have where it is stored: events, records, memory, inputs, metadata, schedules, and the names and bytes of
 * files, with AES-256-GCM. Names that are looked for stay readable: ids, keys, owners, agents, times, states, and the audit trail.
 */
export interface Encryption {
  /**
   * The key of an owner: 32 random bytes. Of several, the first one encrypts and all decrypt, so that a new key is put before the
   * others. What is stored without a key is not encrypted, and what was encrypted cannot be read without its key: an owner whose
   * key is thrown away is erased everywhere, also in backups. Asked again after ten seconds. A request that needs the key of an owner
   * fails when this throws.
   */
  keyFor(owner: string): OwnerKey | Promise<OwnerKey>;
}

/** The key of an owner, or several, the newest first; `undefined` for none. */
export type OwnerKey = Uint8Array | readonly Uint8Array[] | undefined;

/** Fails for a part of a run that is encrypted still, because the process has no keys at all: it would take it for something else. */
export function checkReadable(runId: RunId, value: unknown): void {
  const isSealed =
    typeof value === "string"
      ? value.startsWith('{"encrypted":"')
      : Object.hasOwn(Object(value) as object, "encrypted");
  if (!isSealed) return;
  throw new AgentError("unavailable", `run ${runId} cannot be read: it is encrypted, and there are no keys`, {
    hint: "start with the troupe.config.ts that exports encryption, or give createRuntime its encryption",
  });
}
