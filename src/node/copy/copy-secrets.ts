import { AgentError } from "../../errors.ts";
import type { SecretStore } from "../../ports/secret-store.ts";
import type { Copied } from "./copy-log.ts";

/** Copies the values of secrets, and compares them. */
export async function* copySecrets(from: SecretStore, to: SecretStore): AsyncGenerator<Copied, void> {
  const known = new Set(await to.names());
  const names = await from.names();
  // Some at once: a file of secrets is written whole with each change.
  for (let start = 0; start < names.length; start += AT_ONCE) {
    const values = new Map<string, string>();
    for (const name of names.slice(start, start + AT_ONCE)) {
      const value = await from.get(name);
      if (value !== undefined) values.set(name, value);
    }
    const added = [...values].filter(([name]) => !known.has(name));
    if (added.length > 0) await to.put(Object.fromEntries(added));
    for (const [name, value] of values) {
      if ((await to.get(name)) !== value) throw differs(name);
      yield { kind: "secret", id: name, isNew: !known.has(name), events: 0, bytes: Buffer.byteLength(value) };
    }
  }
}

const AT_ONCE = 200;

function differs(name: string): AgentError {
  return new AgentError("conflict", `secret ${name} is in both stores and differs`, {
    hint: "it was not overwritten; copy to an empty target",
  });
}
