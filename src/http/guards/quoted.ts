/** A text of a client or a configuration as a message shows it: quoted, its start only. */
export function quoted(text: string): string {
  return JSON.stringify(text.slice(0, 100));
}
