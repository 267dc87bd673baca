/**
 * Stores data that must not be in the log: secret values of configurations, and the sign-ins of people elsewhere, by name. Once
 * `put` resolves, a value is as durable as the log and can be read on every node. A store belongs to one log: at its start, a
 * runtime removes the values of configurations that no run of the log refers to.
 */
export interface SecretStore {
  /** The value of a name; `undefined` if there is none. */
  get(name: string): Promise<string | undefined>;
  /** Stores all values or none, and replaces existing values. */
  put(values: Readonly<Record<string, string>>): Promise<void>;
  /**
   * Stores a value if the one that is stored is still this one (`undefined`: if there is none), in one step. Resolves with whether it
   * did. With it nodes that share the store agree on which of them does something; a store without it belongs to one process.
   */
  replace?(name: string, before: string | undefined, value: string): Promise<boolean>;
  /** The names of all values. */
  names(): Promise<readonly string[]>;
  /** Removes values by their names, all or none; names without a value are ignored. */
  remove(names: readonly string[]): Promise<void>;
}
