/** What one sequence of a turn has said and the log does not have yet. */
export class Backlog {
  readonly #texts: { readonly id: number; readonly characters: number }[] = [];
  #characters = 0;

  /** Notes a text by the id of its event. */
  add(id: number, characters: number): void {
    this.#texts.push({ id, characters });
    this.#characters += characters;
  }

  /** Whether less than so much waits, where everything up to an event is committed. */
  isBelow(limits: { readonly texts: number; readonly characters: number }, committed: number): boolean {
    // Looked at only now and then: most sequences wait for their texts and never come near a limit.
    if (this.#isBelow(limits)) return true;
    const open = this.#texts.findIndex(({ id }) => id > committed);
    const done = this.#texts.splice(0, open < 0 ? this.#texts.length : open);
    for (const { characters } of done) this.#characters -= characters;
    return this.#isBelow(limits);
  }

  #isBelow({ texts, characters }: { readonly texts: number; readonly characters: number }): boolean {
    return this.#texts.length < texts && this.#characters <= characters;
  }
}
