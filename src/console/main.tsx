import { render } from "preact";
import { App } from "./app/app.tsx";

// The script is below /console/, so the server's address is one folder up, with any prefix of a proxy.
const script = import.meta.url;
const root = document.getElementById("console");
if (root !== null) render(<App url={new URL("../", script).href} />, root);
