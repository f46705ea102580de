// A merchant's program over the types that openapi-typescript made and openapi-fetch, with the Standard Webhooks library.
import createClient from "openapi-fetch";
import { Webhook } from "standardwebhooks";
import type { components, paths } from "./quipu.js";

// Node's own modules, without their types: nothing but what is used here.
const { readFileSync } = await import("node:fs" as string);
const { createServer } = await import("node:http" as string);
const { env } = (globalThis as any).process;

const assert = (holds: unknown, what: unknown) => {
  if (!holds) throw new Error(JSON.stringify(what));
};

const credentials = JSON.parse(readFileSync(env.QUIPU_CREDENTIALS, "utf8"));
const client = createClient<paths>({ baseUrl: credentials.base_url, headers: { "X-API-Key": credentials.v1.api_key } });

type Arrived = { headers: Record<string, string>; body: string };
const arrived: Arrived[] = [];
let wake = () => {};
const receiver = createServer((request: any, response: any) => {
  let body = "";
  request.on("data", (piece: unknown) => { body += piece; });
  request.on("end", () => {
    arrived.push({ headers: request.headers, body });
    response.end();
    wake();
  });
});
await new Promise<void>((ready) => receiver.listen(0, "127.0.0.1", ready));
const url = `http://127.0.0.1:${receiver.address().port}/hook`;
const { data: webhook } = await client.POST("/api/v1/webhooks", { body: { url } });
if (!webhook) throw new Error("no webhook");

const reference = `typescript-${Date.now()}-${Math.random()}`;
const draft: components["schemas"]["PaymentCreate"] = {
  amount: 100_000,
  currency: "MXN",
  method: "spei",
  type: "deposit",
  merchant_reference: reference,
  customer: { name: "Ana Torres", email: "ana@example.com" },
};
const { data: created } = await client.POST("/api/v1/payments", { body: draft });
if (!created) throw new Error("no payment");
assert(created.success && created.bank_details?.account_number, created);

const { data: read } = await client.GET("/api/v1/payments/{id}", { params: { path: { id: created.transaction_id } } });
assert(read?.data.amount === 100_000, read);

const { data: listed } = await client.GET("/api/v1/payments", { params: { query: { merchant_reference: reference } } });
assert(listed?.total === 1 && listed.data[0]?.transaction_id === created.transaction_id, listed);

const { error: refused } = await client.POST("/api/v1/payments", { body: { ...draft, amount: 0 } });
assert(refused && "error" in refused && refused.message[0]?.startsWith("amount"), refused);

const seen = new Set<string>();
const verifier = new Webhook(webhook.data.secret);
while (!(seen.has("payment.created") && seen.has("payment.completed"))) {
  const delivery = arrived.shift();
  if (!delivery) {
    await new Promise<void>((next) => { wake = next; });
    continue;
  }
  const event = verifier.verify(delivery.body, delivery.headers) as components["schemas"]["PaymentEvent"];
  if (event.data.payment.transaction_id === created.transaction_id) seen.add(event.type);
  let believed = true;
  try { verifier.verify(`${delivery.body} `, delivery.headers); } catch { believed = false; }
  assert(!believed, "a changed body verifies");
}
console.log("created, read, listed;", [...seen].sort().join(", "), "verified");
receiver.closeAllConnections();
receiver.close();
