# ගෙවන්නන් සහ මුදල් ලබන්නන් කියවන දේ. සෑම ගොනුවකම එකම පණිවිඩ සහ එකම විචල්‍ය ඇත.

## රාමුව

title-of = { $what } · { $merchant }
test-mark = පරීක්ෂණ
test-notice = මෙය පරීක්ෂණ ගෙවීමකි. සැබෑ මුදල් හුවමාරු නොවේ.
pay-merchant = { $merchant } වෙත ගෙවන්න
payment-to = { $merchant } වෙත ගෙවීම
payout-from = { $merchant } වෙතින් ඔබට මුදල්
reference = වෙළෙන්දාගේ යොමුව
payment-number = ගෙවීම් ID
languages = භාෂාව
lost = සම්බන්ධතාව බිඳී ගියේය. අපි දිගටම උත්සාහ කරමු.
refreshes = මෙම පිටුව තත්පර 15කට වරක් ඉබේම යාවත්කාලීන වේ.

## කාලය

time-left = ඉතිරි කාලය
pay-by = { $moment } ට පෙර ගෙවන්න
answer-by = { $moment } ට පෙර පුරවන්න
days = දින { $count },
time-over = කාලය අවසන්
time-over-text = ඔබේ ගෙවීම ලැබුණේ දැයි අපි පරීක්ෂා කරමින් සිටිමු.

## පිටපත් කිරීම

copy = පිටපත් කරන්න
copied = පිටපත් විය
copy-what = පිටපත් කරන්න: { $what }

## ඊළඟට කොහේද

return-to = { $merchant } වෙත ආපසු යන්න
leave-for = නොගෙවා { $merchant } වෙත ආපසු යන්න
leave-form-for = ආපසු { $merchant } වෙත
pay-now = ගෙවීමට ඉදිරියට යන්න
open-wallet = පසුම්බියේ විවෘත කරන්න

## සිදු වූ දේ: තැන්පතු

deposit-transfer = ඔබේ මුදල් මාරුව බලාපොරොත්තුවෙන් සිටිමු
deposit-transfer-text = පෙන්වා ඇති පරිදි ඔබේ බැංකුවෙන් එවන්න. ලැබුණු විට මෙහි දන්වමු.
deposit-voucher = ඔබේ ගෙවීම බලාපොරොත්තුවෙන් සිටිමු
deposit-voucher-text = කවුන්ටරයේදී මුදලින් ගෙවන්න. ලැබුණු විට මෙහි දන්වමු.
deposit-crypto = ඔබේ ගෙවීම බලාපොරොත්තුවෙන් සිටිමු
deposit-crypto-text = පෙන්වා ඇති පරිදි ඔබේ පසුම්බියෙන් එවන්න. ලැබුණු විට මෙහි දන්වමු.
deposit-redirect = ගෙවීමට සූදානම්
deposit-redirect-text = ඔබ ගෙවන්නේ ගෙවීම් ක්‍රමයේ ආරක්ෂිත පිටුවේය. අවසන් වූ විට මෙහි දන්වමු.
deposit-waiting = ඔබේ ගෙවීම සූදානම් වෙමින් පවතී
deposit-waiting-text = ගෙවීමේ විස්තර මොහොතකින් මෙහි පෙනේ.
deposit-completed = ගෙවීම ලැබුණි
deposit-completed-text = { $merchant } වෙත ඔබේ ගෙවීම ලැබුණි. තවත් කළ යුතු දෙයක් නැත.
deposit-late = ඔබේ ගෙවීම අවසානයේ ලැබුණි
deposit-late-text = එය කාලය අවසන් වූ පසු ලැබී පිළිගන්නා ලදී. තවත් කළ යුතු දෙයක් නැත.
deposit-failed = ගෙවීම සාර්ථක නොවීය
deposit-failed-text = ඔබට { $merchant } වෙත ආපසු ගොස් නැවත උත්සාහ කළ හැක. ඔබේ ගිණුමෙන් මුදල් අඩු වී ඇත්නම් පහත ගෙවීම් ID එක ඔවුන්ට දන්වන්න.
deposit-expired = ගෙවීමට තිබූ කාලය අවසන්
deposit-expired-text = කරුණාකර මෙම ගෙවීම සඳහා තවත් මුදල් එවන්න එපා. ඔබ දැනටමත් සම්පූර්ණ මුදල ගෙවා ඇත්නම්, එය ලැබුණු විට බැර කෙරේ; වෙනත් මුදලක් එව්වේ නම්, පහත ගෙවීම් ID එක { $merchant } වෙත දන්වන්න.
deposit-cancelled = ගෙවීම අවලංගු කරන ලදී
deposit-cancelled-text = කරුණාකර මෙම ගෙවීම සඳහා තවත් මුදල් එවන්න එපා. ඔබ දැනටමත් සම්පූර්ණ මුදල ගෙවා ඇත්නම්, එය ලැබුණු විට බැර කෙරේ; වෙනත් මුදලක් එව්වේ නම්, පහත ගෙවීම් ID එක { $merchant } වෙත දන්වන්න. ඔබ ගෙවා නැත්නම්, { $merchant } වෙත ගොස් නැවත අරඹන්න.
deposit-refunded = ඔබේ මුදල් ආපසු එවන ලදී
deposit-refunded-text = { $merchant } විසින් ඔබට { $refunded } ආපසු එවන ලදී. ඔබේ බැංකුවේ එය පෙනීමට දින කිහිපයක් ගත විය හැක.
deposit-part-refunded = ඔබේ මුදලින් කොටසක් ආපසු එවන ලදී
deposit-part-refunded-text = { $merchant } විසින් ඔබට { $refunded } ආපසු එවන ලදී. ඔබේ බැංකුවේ එය පෙනීමට දින කිහිපයක් ගත විය හැක.
received-instead = { $received } ලැබී පිළිගන්නා ලදී.

## සිදු වූ දේ: මුදල් ගැනීම්

withdrawal-form = මුදල් යැවිය යුත්තේ කොහේටද?
withdrawal-form-text = ඔබේම ගිණුම ඇතුළත් කරන්න. හොඳින් පරීක්ෂා කරන්න: තහවුරු කළ පසු වෙනස් කළ නොහැක.
withdrawal-unavailable = { $merchant } හට මේ මොහොතේ ඔබේ ගිණුම භාරගත නොහැක
withdrawal-unavailable-text = එය ඇතුළත් කළ හැක්කේ කවදාදැයි ඔවුන්ගෙන් විමසන්න. පහත කාලය දිගටම ගෙවී යයි.
withdrawal-pending = ඔබේ මුදල් යැවීම සූදානම් වෙමින් පවතී
withdrawal-pending-text = තවත් කළ යුතු දෙයක් නැත.
withdrawal-processing = ඔබේ මුදල් මඟ එමින් පවතී
withdrawal-processing-text = ඔබේ බැංකුවේ එය පෙනීමට ටික වේලාවක් ගත විය හැක.
withdrawal-completed = ඔබේ මුදල් යවන ලදී
withdrawal-completed-text = තවත් කළ යුතු දෙයක් නැත.
withdrawal-failed = මුදල් යැවීම සාර්ථක නොවීය
withdrawal-failed-text = මුදල් තවමත් { $merchant } සතුව ඇත. කළ යුතු දේ ඔවුන්ගෙන් විමසන්න.
withdrawal-cancelled = මුදල් යැවීම අවලංගු කරන ලදී
withdrawal-cancelled-text = මුදල් තවමත් { $merchant } සතුව ඇත. ඔබ එය බලාපොරොත්තු වූයේ නම් ඔවුන්ගෙන් විමසන්න.
withdrawal-expired = ගිණුමක් ඇතුළත් කිරීමට තිබූ කාලය අවසන්
withdrawal-expired-text = මුදල් තවමත් { $merchant } සතුව ඇත. ඔවුන්ගෙන් නව සබැඳියක් ඉල්ලන්න.
withdrawal-returned = බැංකුව මුදල් ආපසු එවීය
withdrawal-returned-text = ලබන්නාගේ බැංකුව එය පිළිගත්තේ නැත. මුදල් නැවත { $merchant } සතුව ඇත; කළ යුතු දේ ඔවුන්ගෙන් විමසන්න.

## ගෙවන ආකාරය

how-to-pay = ගෙවන ආකාරය
transfer-1 = ඔබේ බැංකුවේ යෙදුම හෝ වෙබ් අඩවිය විවෘත කර මුදල් මාරුවක් අරඹන්න.
spei-1 = ඔබේ බැංකුවේ යෙදුම හෝ වෙබ් අඩවිය විවෘත කර SPEI මුදල් මාරුවක් අරඹන්න.
transfer-2 = පහත විස්තර එලෙසම පිටපත් කරන්න. ගෙවීම් යොමුව නොමැතිව ඔබේ ගෙවීම හඳුනාගත නොහැක.
transfer-3 = පෙන්වා ඇති මුදලම එවන්න.
payid-1 = ඔබේ බැංකුවේ යෙදුම විවෘත කර PayID වෙත ගෙවීම තෝරන්න.
payid-2 = PayID ඇතුළත් කරන්න. ඔබේ බැංකුව { $name } යන නම පෙන්විය යුතුය.
payid-3 = ගෙවීම් යොමුව ඇතුළත් කර පෙන්වා ඇති මුදලම එවන්න.
cashstore-1 = කාලය අවසන් වීමට පෙර සහභාගී වන වෙළඳසැලකට යන්න.
cash-1 = කාලය අවසන් වීමට පෙර ගෙවීම් කවුන්ටරයකට යන්න.
voucher-2 = තීරු කේතය පෙන්වන්න, නැතහොත් එයට පහළින් ඇති අංකය කියන්න.
voucher-barcode = පහත ඇති තීරු කේත අංකය කියන්න.
voucher-counter = කවුන්ටරය සඳහා අංකය කියන්න: ඔබේ ගෙවීම හඳුනාගන්නේ එයිනි.
voucher-3 = මුදලින් ගෙවා රිසිට්පත තබා ගන්න.
crypto-1 = ඔබේ පසුම්බිය විවෘත කර { $network } ජාලයේ { $asset } තෝරන්න.
crypto-2 = කේතය පරිලෝකනය කරන්න, නැතහොත් ලිපිනය පිටපත් කරන්න.
crypto-3 = මෙම ජාලයේ { $asset } පමණක් එවන්න. වෙනත් ඕනෑම දෙයක් අහිමි වේ.
redirect-1 = ගෙවීම් ක්‍රමයට යාමට පහත බොත්තම තෝරන්න.
redirect-2 = එහිදී ගෙවීම තහවුරු කරන්න.
redirect-3 = ඉබේම ආපසු නොපැමිණියහොත් මෙහි ආපසු එන්න. ඔබ දැනටමත් එහිදී තහවුරු කර ඇත්නම්, මෙහි රැඳී සිටින්න; නැවත ගෙවන්න එපා.
card-1 = පහත බොත්තම තෝරන්න. ඔබේ කාඩ්පත් විස්තර ඇතුළත් කරන්නේ ගෙවීම් ක්‍රමයේ පිටුවේය, කිසිවිටෙක මෙහි නොවේ.
qr-of = ගෙවීම් ලිපිනයේ QR කේතය
barcode-of = තීරු කේතය { $number }

## ක්ෂේත්‍ර

field-amount = මුදල
field-price = මිල
field-account-holder = ගිණුම් හිමියා
field-clabe = CLABE
field-bsb = BSB
field-bank = බැංකුව
field-swift = SWIFT / BIC
field-purpose = ගෙවීම් යොමුව
field-payid = PayID
field-payid-name = PayID නම
field-barcode = තීරු කේත අංකය
field-voucher = කවුන්ටරය සඳහා අංකය
field-asset = මුදල් වර්ගය
field-network = ජාලය
field-address = ලිපිනය
field-wallet-address = පසුම්බි ලිපිනය
field-recipient = ලබන්නාගේ නම
field-bank-account = ගිණුම් අංකය
field-cbu = CBU, CVU හෝ අන්වර්ථ නාමය
field-bank-code = බැංකු කේතය
field-account-type = ගිණුම් වර්ගය
field-tax-id = බදු අංකය
field-payid-type = PayID වර්ගය
field-destination = ගමනාන්තය

## ලබන්නාගේ පෝරමය

your-account = ඔබේ ගිණුම
confirm-account = ගිණුම තහවුරු කරන්න
goes-to = යවන ගිණුම
payid-email = විද්‍යුත් තැපැල් ලිපිනය
payid-phone = දුරකථන අංකය
payid-abn = ABN
hint-clabe = ඉලක්කම් 18ක්
hint-bsb = ඉලක්කම් 6ක්
hint-cbu = ඉලක්කම් 22ක්, හෝ අන්වර්ථ නාමයක්
hint-payid = ඔබේ බැංකුවේ ලියාපදිංචි කර ඇති පරිදි
please-correct = කරුණාකර සලකුණු කර ඇති දේ නිවැරදි කරන්න.
problem-required = කරුණාකර මෙය පුරවන්න.
problem-clabe = CLABE එකක ඉලක්කම් 18ක් ඇත. ඉලක්කම් පමණි, හිස්තැන් හෝ කෙටි ඉරි නැතිව.
problem-slip = ගිණුම් අංකයේ දෝෂයක් ඇත. කරුණාකර සෑම ඉලක්කමක්ම පරීක්ෂා කරන්න.
problem-cbu = CBU හෝ CVU එකක ඉලක්කම් 22ක් ඇත; අන්වර්ථ නාමයක අකුරු, ඉලක්කම්, තිත් සහ කෙටි ඉරි 6 සිට 20 දක්වා ඇත.
problem-bsb = BSB එකක ඉලක්කම් 6ක් ඇත. ඉලක්කම් පමණි, හිස්තැන් හෝ කෙටි ඉරි නැතිව.
problem-account = අකුරු, ඉලක්කම්, තිත් සහ කෙටි ඉරි පමණි. කරුණාකර පරීක්ෂා කරන්න.
problem-abn = ABN එකක හිස්තැන් නැතිව ඉලක්කම් 11ක් ඇත.
problem-abn-slip = ABN එකේ දෝෂයක් ඇත. කරුණාකර සෑම ඉලක්කමක්ම පරීක්ෂා කරන්න.
problem-payid = මෙය ඔබ තෝරාගත් PayID වර්ගයට නොගැලපේ.
problem-other = කරුණාකර මෙය පරීක්ෂා කරන්න.
already-given = ගිණුම දැනටමත් ඇතුළත් කර ඇත. එය වෙනස් කළ නොහැක.

## අනුකරණය කළ ගෙවීම් ක්‍රමය (පරීක්ෂණ පරිසරය)

scheme-title = අනුකරණය කළ ගෙවීම් ක්‍රමය
scheme-text = මෙම පිටුව පරීක්ෂණ පරිසරයේ ගෙවීම් ක්‍රමයක පිටුව වෙනුවට ඇත. මුදල් හුවමාරු නොවේ.
scheme-name = ගෙවීම් ක්‍රමය: { $name }
scheme-approve = අනුමත කරන්න
scheme-decline = ප්‍රතික්ෂේප කරන්න
scheme-leave = විවෘතව තබන්න
scheme-left-open = ගෙවීම විවෘතව තබන ලදී.
scheme-approved = මෙම ගෙවීම අනුමත කරන ලදී: මුදල් මඟ එමින් පවතී.
scheme-declined = මෙම ගෙවීම ප්‍රතික්ෂේප කරන ලදී.
scheme-over = මෙම ගෙවීම තවදුරටත් විවෘතව නැත.

## දැනුම්දීම්

no-page = මෙම පිටුව නොපවතී
no-page-text = කරුණාකර සබැඳිය පරීක්ෂා කරන්න, නැතහොත් එය එවූ අයගෙන් නව එකක් ඉල්ලන්න.
too-many = ඉල්ලීම් වැඩියි
too-many-text = කරුණාකර මිනිත්තුවක් රැඳී සිට පිටුව නැවත පූරණය කරන්න.
unavailable = පිටුව මේ මොහොතේ ලබා ගත නොහැක
unavailable-text = කරුණාකර මිනිත්තුවකින් නැවත පූරණය කරන්න. ඔබේ ගෙවීමට බලපෑමක් නැත.
