/** A number of bytes in the unit that fits. */
export function sizeText(bytes: number): string {
  if (bytes < 1_000) return `${bytes} ${bytes === 1 ? "byte" : "bytes"}`;
  const kilobytes = bytes / 1_000;
  return kilobytes < 1_000 ? `${round(kilobytes)} KB` : `${round(kilobytes / 1_000)} MB`;
}

function round(value: number): string {
  return value < 10 ? value.toFixed(1) : Math.round(value).toString();
}
