/** What the callers of one task share. */
interface Shared<Act> {
  callers: number;
  last: { readonly act: Promise<Act>; readonly owner: object; endedAt: number } | undefined;
}

/** One caller of a task. */
export interface TaskCaller<Act> {
  /** Acts, unless another caller has acted since this one was registered; then it returns the act of that one. */
  perform(act: () => Promise<Act>): Promise<Act>;
  /** The caller got its answer or disconnected. */
  end(): void;
}

/** Lets one of the callers who call a task at the same time act for all of them. */
export class SharedActs<Act> {
  readonly #tasks = new Map<string, Shared<Act>>();
  /** Orders the beginnings and ends of callers. */
  #clock = 0;

  /** Registers a caller, which must be ended. */
  begin(taskId: string): TaskCaller<Act> {
    const shared: Shared<Act> = this.#tasks.get(taskId) ?? { callers: 0, last: undefined };
    this.#tasks.set(taskId, shared);
    shared.callers += 1;
    const startedAt = (this.#clock += 1);
    const owner = {};

    return {
      async perform(act) {
        for (let { last } = shared; last !== undefined && last.endedAt > startedAt; { last } = shared) {
          try {
            return await last.act;
          } catch {
            // The other one was refused, so this one acts itself.
            if (shared.last === last) shared.last = undefined;
          }
        }
        shared.last = { act: act(), owner, endedAt: Infinity };
        return shared.last.act;
      },
      end: () => {
        shared.callers -= 1;
        if (shared.last?.owner === owner) shared.last.endedAt = this.#clock += 1;
        if (shared.callers === 0) this.#tasks.delete(taskId);
      },
    };
  }
}
