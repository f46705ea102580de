// Starts the reference, and signs the calls of version 2 in the browser.
"use strict";

// The path of the gateway's public address. What is signed begins behind it.
const root = new URL("../..", location.href).pathname.slice(0, -1);
const encoder = new TextEncoder();
const hex = (bytes) => Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, "0")).join("");
const header = (request, name) =>
  Object.keys(request.headers).find((key) => key.toLowerCase() === name.toLowerCase());

// What was entered as the signature is the secret. It is replaced by the signature before anything is sent.
async function sign(request) {
  const entered = header(request, "X-Signature");
  const secret = entered ? request.headers[entered] : "";
  if (entered) delete request.headers[entered];
  if (!secret) return request;
  const url = new URL(request.url, location.href);
  const timestamp = Math.floor(Date.now() / 1000).toString();
  const nonce = crypto.randomUUID();
  const body = typeof request.body === "string" ? request.body : "";
  const digest = hex(await crypto.subtle.digest("SHA-256", encoder.encode(body)));
  const path = url.pathname.slice(root.length) + url.search;
  const text = ["v1", timestamp, nonce, request.method.toUpperCase(), path, digest].join(".");
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", encoder.encode(secret), algorithm, false, ["sign"]);
  const signature = hex(await crypto.subtle.sign("HMAC", key, encoder.encode(text)));
  const signed = {
    "X-Timestamp": timestamp,
    "X-Nonce": nonce,
    "X-Signature-Version": "v1",
    "X-Signature": `hmac_sha256=${signature}`,
  };
  for (const name of Object.keys(signed)) {
    const before = header(request, name);
    if (before) delete request.headers[before];
    request.headers[name] = signed[name];
  }
  return request;
}

window.ui = SwaggerUIBundle({
  url: new URL("openapi.json", location.href).href,
  dom_id: "#reference",
  deepLinking: true,
  persistAuthorization: false,
  tryItOutEnabled: true,
  displayRequestDuration: true,
  // Both would ask another host.
  validatorUrl: null,
  oauth2RedirectUrl: null,
  requestInterceptor: (request) =>
    new URL(request.url, location.href).pathname.startsWith(`${root}/api/v2/`) ? sign(request) : request,
});
