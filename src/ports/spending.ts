/** What was spent on completions on a day, and by how much the budget of that day was raised. */
export interface Spent {
  readonly tokens: number;
  readonly cost: number;
  readonly raisedTokens: number;
  readonly raisedCost: number;
}

/** Adds to what the owner of a run, or one of its agents, has spent on a day, or may spend. */
export interface SpentMark extends Spent {
  /** The agent, if it is about its own budget and not about that of the owner. */
  readonly agent?: string;
  /** The day, counted from 1970, in UTC. */
  readonly day: number;
}

/** Whose spending it is, and on which day. */
export interface SpentKey extends Pick<SpentMark, "agent" | "day"> {
  readonly owner: string;
}

/** What was spent, as it is listed. */
export interface SpentEntry extends SpentKey, Spent {}

/**
 * What was spent on completions, of the newest 400 days. What the completions of a run spend is in the batch that has their results
 * (`Batch.spent`).
 */
export interface Spending {
  /** What an owner has spent on a day, or one of its agents. */
  on(key: SpentKey): Promise<Spent>;
  /** Lists what is known, in a fixed order, behind the entry of a key. */
  list(query: { readonly after?: SpentKey; readonly limit: number }): Promise<readonly SpentEntry[]>;
  /** Stores the entries of another log in the place of those that are there. */
  put(entries: readonly SpentEntry[]): Promise<void>;
  /** Removes what is known of an owner and its agents. */
  remove(owner: string): Promise<void>;
}

/** What was spent on a day of which nothing is known. */
export const NOTHING_SPENT: Spent = { tokens: 0, cost: 0, raisedTokens: 0, raisedCost: 0 };
