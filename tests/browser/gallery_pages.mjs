// The pages that the gallery example wrote into a folder, served under the policy that the gateway gives them.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import path from 'node:path';

const policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
const types = { '.html': 'text/html; charset=utf-8', '.css': 'text/css', '.js': 'text/javascript', '.svg': 'image/svg+xml' };

/** The names of all pages, their address, and how to stop serving them. */
export const serve = async (folder) => {
  const server = createServer((request, response) => {
    try {
      const file = path.join(folder, path.normalize(new URL(request.url, 'http://x').pathname));
      response.writeHead(200, { 'content-type': types[path.extname(file)], 'content-security-policy': policy });
      response.end(readFileSync(file));
    } catch { response.writeHead(404).end(); }
  });
  await new Promise((ready) => server.listen(0, '127.0.0.1', ready));
  const names = readFileSync(path.join(folder, 'list.txt'), 'utf8').split('\n');
  return { names, base: `http://127.0.0.1:${server.address().port}`, close: () => server.close() };
};
