import type { CallId } from "../../protocol/ids.ts";
import type { Recorder } from "../journal/recorder.ts";
import type { Limits } from "../limits.ts";
import type { Replay } from "./replay.ts";
import type { ScopeItem, LoggedStep } from "./turn-journal.ts";
import { toSignature } from "./turn-journal.ts";
import { isPatch, textSignature } from "./signature.ts";
import type { Signature } from "./signature.ts";

/** Why a replayed handler cannot continue: it does something other than what the log contains. */
export interface Divergence {
  readonly scope: string;
  readonly expected: string;
  readonly actual: string;
}

/**
 * One sequence of steps of a handler: of a turn, a child, or a branch. It counts the steps and compares each
 * one with the log while the log has more.
 */
export class ReplayScope {
  /**
   * `c` and the number of the turn, then the positions of the calls above, for example `c3.1` or `c3.4:0`.
   */
  readonly path: string;
  readonly #replay: Replay;
  readonly #parent: ReplayScope | undefined;
  readonly #items: ScopeItem[];
  readonly #logged: number;
  #count = 0;
  /** The uncommitted texts: the ids of their events, and their lengths. Two lists, because one of pairs would need an object per text. */
  #textIds: number[] | undefined;
  #textLengths: number[] | undefined;
  #characters = 0;
  /** True while branches of this scope run; the scope itself can do nothing then. */
  branching = false;
  /** True after the handler or branch has ended; nothing more is allowed. */
  ended = false;

  /** The logged steps are released once all are replayed, because there can be many. */
  constructor(path: string, replay: Replay, parent?: ReplayScope) {
    const items = replay.itemsOf(path) ?? [];
    this.path = path;
    this.#replay = replay;
    this.#items = items;
    this.#logged = items.length + replay.skippedOf(path);
    this.#parent = parent;
  }

  /** Whether the log has more steps of this scope. */
  get replaying(): boolean {
    return this.#count < this.#logged;
  }

  /** The logged step at the next position, patches aside; `undefined` if there is none. */
  get upcoming(): Signature | undefined {
    this.skipPatches();
    const item = this.#items[this.#count];
    return item === undefined ? undefined : toSignature(item);
  }

  /** The id of the newest call. */
  get callId(): CallId {
    return `${this.path}.${this.#count}` as CallId;
  }

  /** Takes the next position for a new step. Only while not replaying. */
  advance(): Divergence | undefined {
    this.#count += 1;
    if (!this.#isPast) return undefined;
    return { scope: this.path, expected: "the end of the branch", actual: "more" };
  }

  /** Whether a scope above continued after its branches ended, so this branch cannot have more steps. */
  get #isPast(): boolean {
    return this.#parent !== undefined && (this.#parent.replaying || this.#parent.#isPast);
  }

  /** Takes the next position for a logged step that is not a text. Only while replaying. */
  replay(signature: Signature): LoggedStep | Divergence {
    const item = this.#next();
    if (typeof item === "object" && item.signature === signature) return item;
    return { scope: this.path, expected: toSignature(item), actual: signature };
  }

  /** Takes the next position for a logged text. Only while replaying. */
  replayText(content: string): Divergence | undefined {
    const item = this.#next();
    if (item === content) return undefined;
    return { scope: this.path, expected: toSignature(item), actual: textSignature(content) };
  }

  /** Takes the position of a logged patch; false if the log has none here. Only while replaying. */
  replayPatch(signature: Signature): boolean {
    for (let at = this.#count; at < this.#logged && this.#isPatch(at); at += 1) {
      if (toSignature(this.#items[at] as ScopeItem) !== signature) continue;
      while (this.#count <= at) this.#next();
      return true;
    }
    return false;
  }

  /** Takes the positions of logged patches for which the code no longer asks. */
  skipPatches(): void {
    while (this.replaying && this.#isPatch(this.#count)) this.#next();
  }

  #isPatch(at: number): boolean {
    const item = this.#items[at];
    return typeof item === "object" && isPatch(item.signature);
  }

  /** Skips all logged steps of this scope. */
  skip(): void {
    this.#count = this.#logged;
    this.#items.length = 0;
  }

  /** Adds an uncommitted text by the id of its event. */
  said(id: number, characters: number): void {
    (this.#textIds ??= []).push(id);
    (this.#textLengths ??= []).push(characters);
    this.#characters += characters;
  }

  /** Whether fewer texts and characters than the limits are uncommitted. */
  hasRoom(
    { uncommittedTexts: texts, uncommittedCharacters: characters }: Limits,
    recorder: Recorder,
  ): boolean {
    const ids = this.#textIds ?? NONE;
    const lengths = this.#textLengths ?? NONE;
    // Checked only now and then: most sequences await their texts and never come near a limit.
    if (ids.length < texts && this.#characters <= characters) return true;
    const open = ids.findIndex((id) => id > recorder.cursor.head);
    const done = open < 0 ? ids.length : open;
    this.#textIds = ids.slice(done);
    this.#textLengths = lengths.slice(done);
    this.#characters = this.#textLengths.reduce((sum, length) => sum + length, 0);
    return this.#textIds.length < texts && this.#characters <= characters;
  }

  /** Ends the scope. Returns a divergence if it ends too early. */
  end(): Divergence | undefined {
    this.ended = true;
    this.skipPatches();
    const item = this.#items[this.#count];
    if (item === undefined) return undefined;
    return { scope: this.path, expected: toSignature(item), actual: "the end" };
  }

  #next(): ScopeItem {
    const item = this.#items[this.#count] as ScopeItem;
    this.#count += 1;
    if (!this.replaying) this.#items.length = 0;
    this.#replay.stepped(this.path);
    return item;
  }
}

const NONE: readonly number[] = [];
