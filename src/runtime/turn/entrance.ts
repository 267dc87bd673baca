import type { OpenMachine } from "../agent/machine-port.ts";

/** Where other requests find the machine that a turn runs. */
export class Entrance {
  #machine: OpenMachine | undefined;
  #isClosed = false;
  #opened: PromiseWithResolvers<OpenMachine | undefined> | undefined;

  /** The machine is ready to take operations. */
  open(machine: OpenMachine): void {
    this.#machine = machine;
    this.#opened?.resolve(machine);
  }

  /** The turn has ended, or was passivated. */
  close(): void {
    this.#isClosed = true;
    this.#machine = undefined;
    this.#opened?.resolve(undefined);
  }

  /** Resolves when the handler runs its machine; `undefined` if the turn ends before. */
  async when(): Promise<OpenMachine | undefined> {
    if (this.#machine !== undefined || this.#isClosed) return this.#machine;
    return (this.#opened ??= Promise.withResolvers()).promise;
  }
}
