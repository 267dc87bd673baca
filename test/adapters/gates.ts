/** Promises that a test settles, by name. */
export class Gates {
  readonly #gates = new Map<string, PromiseWithResolvers<void>>();

  get(name: string): PromiseWithResolvers<void> {
    const gate = this.#gates.get(name) ?? Promise.withResolvers<void>();
    this.#gates.set(name, gate);
    return gate;
  }
}
