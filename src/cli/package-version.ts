import { readFileSync } from "node:fs";

export function readVersion(): string {
  const file = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  return (JSON.parse(file) as { readonly version: string }).version;
}
