/** What one sequence of a turn has said and the log does not have yet. */
export class Backlog {
  // Two lists of numbers, because a list of pairs would be an object for every text.
  #ids: number[] = [];
  #lengths: number[] = [];
  #characters = 0;

  /** Notes a text by the id of its event. */
  add(id: number, characters: number): void {
    this.#ids.push(id);
    this.#lengths.push(characters);
    this.#characters += characters;
  }

  /** Whether less than so much waits, where everything up to an event is committed. */
  isBelow(
    { texts, characters }: { readonly texts: number; readonly characters: number },
    committed: number,
  ): boolean {
    // Looked at only now and then: most sequences wait for their texts and never come near a limit.
    if (this.#ids.length < texts && this.#characters <= characters) return true;
    const open = this.#ids.findIndex((id) => id > committed);
    const done = open < 0 ? this.#ids.length : open;
    this.#ids = this.#ids.slice(done);
    this.#lengths = this.#lengths.slice(done);
    this.#characters = this.#lengths.reduce((sum, length) => sum + length, 0);
    return this.#ids.length < texts && this.#characters <= characters;
  }
}
