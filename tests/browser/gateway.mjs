// A gateway of its own for these tests: the binary that QUIPU_BIN names, on SQLite in a folder that goes with it.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const PATIENCE = 60_000;

/** Asks again and again until `probe` answers something; fails after a minute. */
export const eventually = async (what, probe) => {
  const end = Date.now() + PATIENCE;
  for (;;) {
    const found = await probe();
    if (found) return found;
    if (Date.now() > end) throw new Error(`waited in vain for ${what}`);
    await new Promise((next) => setTimeout(next, 50));
  }
};

export class Gateway {
  static async start() {
    const gateway = new Gateway();
    gateway.data = mkdtempSync(path.join(tmpdir(), 'quipu-browser-'));
    const begun = Date.now();
    const plenty = '100000000';
    gateway.process = spawn(process.env.QUIPU_BIN, ['serve', '--dev'], {
      env: {
        ...process.env,
        QUIPU__LISTEN: '127.0.0.1:0',
        QUIPU__METRICS_LISTEN: '127.0.0.1:0',
        QUIPU__DATA_DIR: gateway.data,
        QUIPU__DATABASE_URL: `sqlite://${gateway.data}/quipu.db`,
        QUIPU__LIMITS__PAGES_PER_MINUTE: plenty,
        QUIPU__LIMITS__STANDARD_PER_MINUTE: plenty,
      },
      cwd: gateway.data,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    gateway.log = '';
    gateway.process.stderr.on('data', (piece) => { gateway.log += piece; });
    gateway.process.on('exit', (code) => { gateway.ended = code ?? 1; });
    const file = path.join(gateway.data, 'dev-credentials.json');
    gateway.credentials = await eventually('the gateway', async () => {
      if (gateway.ended !== undefined) throw new Error(`the gateway ended:\n${gateway.log}`);
      try { return statSync(file).mtimeMs >= begun - 1000 && JSON.parse(readFileSync(file)); } catch { return undefined; }
    });
    gateway.base = gateway.credentials.base_url;
    await eventually('readiness', () => fetch(`${gateway.base}/readyz`).then((answer) => answer.ok, () => false));
    return gateway;
  }

  async call(method, target, body, headers = {}) {
    const answer = await fetch(this.base + target, {
      method,
      headers: { 'content-type': 'application/json', ...headers },
      body: body && JSON.stringify(body),
    });
    const json = await answer.json();
    if (!answer.ok) throw new Error(`${method} ${target}: ${JSON.stringify(json)}`);
    return json;
  }

  merchant(method, target, body) {
    return this.call(method, target, body, { 'x-api-key': this.credentials.v1.api_key });
  }

  operator(method, target, body) {
    return this.call(method, target, body, { authorization: `Bearer ${this.credentials.operator_token}` });
  }

  /** A hosted payment that waits, and where its page is. */
  async create(wishes) {
    const payment = await this.merchant('POST', '/api/v1/payments', {
      amount: 123_456,
      type: 'deposit_pp',
      merchant_reference: crypto.randomUUID(),
      customer: { name: 'Ana', email: 'stay@simulator.test' },
      return_urls: { success_url: 'https://shop.example/done', cancel_url: 'https://shop.example/cart' },
      description: 'Two tickets, row 7',
      ...wishes,
    });
    return { ...payment, path: new URL(payment.payment_page_url).pathname };
  }

  /** What a payer decides on the simulated scheme's page. */
  async decide(payment, decision) {
    const answer = await fetch(payment.redirect_url, { method: 'POST', body: new URLSearchParams({ decision }) });
    if (!answer.ok) throw new Error(`the scheme answered ${answer.status}`);
  }

  stop() {
    this.process.kill('SIGKILL');
    rmSync(this.data, { recursive: true, force: true });
  }
}
