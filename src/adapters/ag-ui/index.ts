export { agUi } from "./ag-ui.ts";
export type { AgUiOptions } from "./ag-ui.ts";
