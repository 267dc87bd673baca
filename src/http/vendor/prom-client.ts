/** What the metrics use of prom-client. The build bundles the library into this file. */
export { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from "prom-client";
