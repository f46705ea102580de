"""A merchant's program over the client that openapi-python-client made, with the Standard Webhooks library for Python."""

import http.server
import json
import os
import queue
import threading
import time
import uuid

from quipu_client import AuthenticatedClient
from quipu_client.api.payments import create_payment, get_payment, list_payments
from quipu_client.api.webhooks import create_webhook
from quipu_client.models import PaymentCreate, ValidationError, WebhookCreate
from standardwebhooks.webhooks import Webhook

credentials = json.load(open(os.environ["QUIPU_CREDENTIALS"], encoding="utf-8"))
client = AuthenticatedClient(
    base_url=credentials["base_url"], token=credentials["v1"]["api_key"], prefix="", auth_header_name="X-API-Key"
)
arrived = queue.Queue()


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        arrived.put((dict(self.headers), body))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


receiver = http.server.HTTPServer(("127.0.0.1", 0), Receiver)
threading.Thread(target=receiver.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{receiver.server_port}/hook"
secret = create_webhook.sync(client=client, body=WebhookCreate(url=url)).data.secret

reference = f"python-{uuid.uuid4()}"
draft = {
    "amount": 100_000,
    "currency": "MXN",
    "method": "spei",
    "type": "deposit",
    "merchant_reference": reference,
    "customer": {"name": "Ana Torres", "email": "ana@example.com"},
}
created = create_payment.sync(client=client, body=PaymentCreate.from_dict(draft))
assert created.success and created.bank_details.account_number, created
assert created.created_at.tzinfo is not None, "instants are instants"

read = get_payment.sync(created.transaction_id, client=client).data
assert (read.transaction_id, read.amount) == (created.transaction_id, 100_000), read

listed = list_payments.sync(client=client, merchant_reference=reference)
assert [payment.transaction_id for payment in listed.data] == [created.transaction_id], listed
assert listed.total == 1 and listed.pagination.total_pages == 1, listed

refused = create_payment.sync(client=client, body=PaymentCreate.from_dict({**draft, "amount": 0}))
assert isinstance(refused, ValidationError) and refused.message[0].startswith("amount"), refused

seen = set()
deadline = time.monotonic() + 60
while not {"payment.created", "payment.completed"} <= seen:
    headers, body = arrived.get(timeout=max(0.1, deadline - time.monotonic()))
    event = Webhook(secret).verify(body, headers)
    if event["data"]["payment"]["transaction_id"] == created.transaction_id:
        seen.add(event["type"])
    try:
        Webhook(secret).verify(body + b" ", headers)
    except Exception:
        continue
    raise AssertionError("a changed body verifies")
print("created, read, listed;", ", ".join(sorted(seen)), "verified")
