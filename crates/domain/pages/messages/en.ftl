# What payers and recipients read. One file a language; every file has the same messages and the same variables.
# Plain words: what to do now, how long there is, what happened, where to go next.

## The frame

title-of = { $what } · { $merchant }
test-mark = Test
test-notice = This is a test payment. No real money moves.
pay-merchant = Pay { $merchant }
payment-to = Payment to { $merchant }
payout-from = Payout from { $merchant }
reference = Merchant’s reference
payment-number = Payment ID
languages = Language
lost = The connection was lost. We keep trying.
refreshes = This page refreshes automatically every 15 seconds.

## Time

time-left = Time left
pay-by = Pay by { $moment }
answer-by = Fill in by { $moment }
days = { $count } d
time-over = Time is up
time-over-text = We are checking whether your payment arrived.

## Copying

copy = Copy
copied = Copied
copy-what = Copy: { $what }

## Where to go next

return-to = Return to { $merchant }
leave-for = Go back to { $merchant } without paying
leave-form-for = Go back to { $merchant }
pay-now = Continue to payment
open-wallet = Open in wallet

## What happened: deposits

deposit-transfer = Waiting for your transfer
deposit-transfer-text = Send it from your bank as shown. We will tell you here when it arrives.
deposit-voucher = Waiting for your payment
deposit-voucher-text = Pay in cash at the counter. We will tell you here when it arrives.
deposit-crypto = Waiting for your payment
deposit-crypto-text = Send it from your wallet as shown. We will tell you here when it arrives.
deposit-redirect = Ready to pay
deposit-redirect-text = You pay on the secure page of the payment scheme. We will tell you here when it is done.
deposit-waiting = Your payment is being prepared
deposit-waiting-text = The payment details will appear here in a moment.
deposit-completed = Payment received
deposit-completed-text = { $merchant } has your payment. There is nothing more to do.
deposit-late = Your payment arrived after all
deposit-late-text = It came after the time was up and was accepted. There is nothing more to do.
deposit-failed = The payment failed
deposit-failed-text = You can go back to { $merchant } and try again. If money has left your account, give them the payment ID below.
deposit-expired = The time to pay is over
deposit-expired-text = Please do not send any more money for this payment. If you have already paid the full amount, it is credited when it arrives; if you sent a different amount, give { $merchant } the payment ID below.
deposit-cancelled = The payment was cancelled
deposit-cancelled-text = Please do not send any more money for this payment. If you have already paid the full amount, it is credited when it arrives; if you sent a different amount, give { $merchant } the payment ID below. If you have not paid, go back to { $merchant } and start again.
deposit-refunded = Your money was sent back
deposit-refunded-text = { $merchant } has returned { $refunded } to you. Your bank may need a few days to show it.
deposit-part-refunded = Part of your money was sent back
deposit-part-refunded-text = { $merchant } has returned { $refunded } to you. Your bank may need a few days to show it.
received-instead = { $received } arrived and was accepted.

## What happened: withdrawals

withdrawal-form = Where should the money go?
withdrawal-form-text = Enter your own account. Check it carefully: once you confirm, it cannot be changed.
withdrawal-unavailable = { $merchant } cannot take your account at the moment
withdrawal-unavailable-text = Please ask them when you can enter it. The time below keeps running.
withdrawal-pending = Your payout is being prepared
withdrawal-pending-text = There is nothing more to do.
withdrawal-processing = Your payout is on its way
withdrawal-processing-text = Your bank may need some time to show it.
withdrawal-completed = Your payout was sent
withdrawal-completed-text = There is nothing more to do.
withdrawal-failed = The payout failed
withdrawal-failed-text = The money is still with { $merchant }. Please ask them what to do.
withdrawal-cancelled = The payout was cancelled
withdrawal-cancelled-text = The money is still with { $merchant }. If you expected it, please ask them.
withdrawal-expired = The time to enter an account is over
withdrawal-expired-text = The money is still with { $merchant }. Please ask them for a new link.
withdrawal-returned = The bank sent the payout back
withdrawal-returned-text = The receiving bank did not accept it. The money is with { $merchant } again; please ask them what to do.

## How to pay

how-to-pay = How to pay
transfer-1 = Open your bank’s app or website and start a transfer.
spei-1 = Open your bank’s app or website and start a SPEI transfer.
transfer-2 = Copy the details below exactly. Without the payment reference we cannot match your payment.
transfer-3 = Send exactly the amount shown.
payid-1 = Open your bank’s app and choose to pay a PayID.
payid-2 = Enter the PayID. Your bank should show the name { $name }.
payid-3 = Enter the payment reference and send exactly the amount shown.
cashstore-1 = Go to a participating shop before the time is up.
cash-1 = Go to a payment counter before the time is up.
voucher-2 = Show the barcode, or give the number below it.
voucher-barcode = Give the barcode number shown below.
voucher-counter = Give the number for the counter: it identifies your payment.
voucher-3 = Pay in cash and keep the receipt.
crypto-1 = Open your wallet and choose { $asset } on the network { $network }.
crypto-2 = Scan the code or copy the address.
crypto-3 = Send only { $asset } on this network. Anything else is lost.
redirect-1 = Use the button below to continue to the payment scheme.
redirect-2 = Confirm the payment there.
redirect-3 = Come back here if you are not returned automatically. If you have already confirmed there, wait here and do not pay again.
card-1 = Use the button below. You enter your card on the scheme’s own page, never here.
qr-of = QR code of the payment address
barcode-of = Barcode { $number }

## Fields

field-amount = Amount
field-price = Price
field-account-holder = Account holder
field-clabe = CLABE
field-bsb = BSB
field-bank = Bank
field-swift = SWIFT / BIC
field-purpose = Payment reference
field-payid = PayID
field-payid-name = PayID name
field-barcode = Barcode number
field-voucher = Number for the counter
field-asset = Currency
field-network = Network
field-address = Address
field-wallet-address = Wallet address
field-recipient = Recipient’s name
field-bank-account = Account number
field-cbu = CBU, CVU or alias
field-bank-code = Bank code
field-account-type = Account type
field-tax-id = Tax number
field-payid-type = Kind of PayID
field-destination = Destination

## The recipient’s form

your-account = Your account
confirm-account = Confirm account
goes-to = Goes to
payid-email = E-mail address
payid-phone = Telephone number
payid-abn = ABN
hint-clabe = 18 digits
hint-bsb = 6 digits
hint-cbu = 22 digits, or an alias
hint-payid = As registered with your bank
please-correct = Please correct what is marked.
problem-required = Please fill this in.
problem-clabe = A CLABE has 18 digits. Digits only, without spaces or hyphens.
problem-slip = The account number has a typing error. Please check every digit.
problem-cbu = A CBU or CVU has 22 digits, an alias 6 to 20 letters, digits, dots and hyphens.
problem-bsb = A BSB has 6 digits. Digits only, without spaces or hyphens.
problem-account = Letters, digits, dots and hyphens only. Please check for typing errors.
problem-abn = An ABN has 11 digits, without spaces.
problem-abn-slip = The ABN has a typing error. Please check every digit.
problem-payid = This does not fit the kind of PayID you chose.
problem-other = Please check this.
already-given = The account was already entered. It cannot be changed.

## The simulated scheme (test environment)

scheme-title = Simulated payment scheme
scheme-text = This page stands in for a scheme’s own page in the test environment. No money moves.
scheme-name = Payment scheme: { $name }
scheme-approve = Approve
scheme-decline = Decline
scheme-leave = Leave open
scheme-left-open = The payment was left open.
scheme-approved = This payment was approved: the money is on its way.
scheme-declined = This payment was declined.
scheme-over = This payment is no longer open.

## Notices

no-page = This page does not exist
no-page-text = Please check the link, or ask whoever sent it to you for a new one.
too-many = Too many requests
too-many-text = Please wait a minute, then load the page again.
unavailable = The page is not available at the moment
unavailable-text = Please load it again in a minute. Your payment is not affected.
