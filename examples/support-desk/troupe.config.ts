// Where the pages of each shop report broken goods. A delivery that comes again is the same request, so it is one turn.
import type { Adapter } from "troupe/http";
import { hmacSignature, webhook } from "troupe/webhooks";

const secrets = { acme: process.env["DESK_ACME"] ?? "", bolt: process.env["DESK_BOLT"] ?? "" };
// A shop without a secret has no webhook.
const shops = Object.entries(secrets).filter(([, secret]) => secret !== "");

export const adapters: Adapter[] = shops.map(([shop, secret]) =>
  webhook({
    name: shop,
    owner: shop,
    agent: "desk",
    verify: hmacSignature({ header: "x-signature", secret }),
    toRequest({ body }) {
      const { delivery, name, order } = JSON.parse(body) as { readonly [field: string]: string };
      return { id: delivery ?? "", operation: "chat", input: { input: `${name}: refund ${order}` } };
    },
  }),
);
