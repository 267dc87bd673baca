import type { CallId } from "../../protocol/ids.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import type { PromptRecord } from "../journal/records.ts";
import type { PromptMark } from "../replay/prompts.ts";
import { newPrompt } from "../replay/prompts.ts";
import type { TurnJournal } from "../replay/turn-journal.ts";
import { secretTexts, withoutTexts } from "../secrets/hidden.ts";
import type { ActorContext } from "./actor-context.ts";

/** A completion that is about to be asked, for the first time or again after a crash. */
export interface AskedCompletion {
  readonly callId: CallId;
  readonly attempt: number;
  readonly input: Json;
}

/**
 * Records the prompts of the completions of a turn. Each record has what is new since the previous prompt of the same
 * actor.
 */
export class TurnPrompts {
  readonly #journal: TurnJournal;
  readonly #record: (record: PromptRecord) => PromptMark;
  /** The newest prompt of each actor in this activation. */
  readonly #newest = new Map<CallId, PromptMark>();
  /** The secret texts of configurations. */
  readonly #secrets = new Map<JsonObject, readonly string[]>();
  /** The newest prompt of the requested agent before the turn. */
  readonly #before: PromptMark | undefined;

  constructor(
    journal: TurnJournal,
    before: PromptMark | undefined,
    record: (record: PromptRecord) => PromptMark,
  ) {
    this.#journal = journal;
    this.#before = before;
    this.#record = record;
  }

  /** Records a prompt, unless the log has the same one of the same completion. */
  add({ call, agent, depth }: Pick<ActorContext, "call" | "agent" | "depth">, asked: AskedCompletion): void {
    const { callId: actor, config } = call;
    const earlier =
      this.#newest.get(actor) ??
      this.#journal.scopes.get(actor)?.prompt ??
      (depth === 0 ? this.#before : undefined);
    const hide = (json: string): string => withoutTexts(json, this.#secretsIn(config));
    const record = newPrompt({ ...asked, agent: agent.name, actor, hide }, earlier);
    if (record !== undefined) this.#newest.set(actor, this.#record(record));
  }

  #secretsIn(config: JsonObject): readonly string[] {
    const known = this.#secrets.get(config);
    if (known) return known;
    const texts = secretTexts(config);
    this.#secrets.set(config, texts);
    return texts;
  }
}
