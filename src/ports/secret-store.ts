/**
 * Keeps what must not stand in the log: the secret values of configurations, by name. A value is
 * as durable as the log once `put` resolves, and readable at once afterwards.
 */
export interface SecretStore {
  /** The value with a name; `undefined` when there is none. */
  get(name: string): string | undefined;
  /** Stores values by name, all or none, replacing what had their names. */
  put(values: Readonly<Record<string, string>>): Promise<void>;
  /** Removes all values whose name begins so. */
  remove(prefix: string): Promise<void>;
}
