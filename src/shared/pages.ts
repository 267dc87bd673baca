/** Where a page begins: with the first rows, or after those of the page before. */
export interface PageStart {
  readonly cursor?: string;
}

/**
 * The pages of a list, in turn. Other work of the process comes between two of them: a list that is read in this process answers at
 * once, so a walk over a long one would let nothing else run until it is over.
 */
export async function* pagesOf<Page extends { readonly next?: string | undefined }>(
  read: (start: PageStart) => Promise<Page>,
  { macrotask }: { macrotask(run: () => void): void },
  from?: string,
): AsyncGenerator<Page, void> {
  for (let cursor = from; ;) {
    const page = await read(cursor === undefined ? {} : { cursor });
    yield page;
    cursor = page.next;
    if (cursor === undefined) return;
    await new Promise<void>((resolve) => {
      macrotask(resolve);
    });
  }
}
