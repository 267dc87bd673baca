import type { TurnError, Usage, FinishReason } from "../../protocol/events/outcome-codes.ts";
import type { By } from "../../protocol/actors.ts";
import type { Json } from "../../protocol/json.ts";

/** The end of a turn. */
export interface TurnEnd {
  readonly finishReason: FinishReason;
  readonly result: string | null;
  readonly truncated?: boolean;
  readonly output: Json;
  readonly error?: TurnError;
  /** The total usage of the turn's completions, if there were any. */
  readonly usage?: Usage;
  /** What went wrong with its cleanup steps; absent if none ran or all did. */
  readonly cleanupErrors?: readonly string[];
  /** Who ended it, if it was held. */
  readonly by?: By;
  /** The memory to keep for the run, by agent. */
  readonly memory: ReadonlyMap<string, Json>;
}
