/** What the command line uses of clack to ask. The build bundles the library into this file. */
export { confirm, isCancel, select, text } from "@clack/prompts";
