// Starts the dashboard.

// uPlot comes first, so that our own code is in one piece in the bundle: like that it compresses better.
import "uplot";
import "uplot/dist/uPlot.min.css";
import "./style/base.css";
import "./style/shell.css";
import "./style/parts.css";
import "./style/pages.css";
import "./style/screens.css";
import "./text/visible-text.ts";
import { render } from "preact";
import { App } from "./shell/app.tsx";

const place = document.getElementById("app");
if (place) render(<App />, place);
