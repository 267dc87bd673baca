/** What reads the rules of a `.gitignore`. The build bundles the library into this file. */
export { default as ignore } from "ignore";
export type { Ignore } from "ignore";
