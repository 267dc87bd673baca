export { ui } from "./ui.ts";
