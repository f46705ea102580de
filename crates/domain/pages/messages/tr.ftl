# Ödeyenlerin ve para alanların okudukları. Her dosyada aynı iletiler ve aynı değişkenler bulunur.

## Çerçeve

title-of = { $what } · { $merchant }
test-mark = Deneme
test-notice = Bu bir deneme ödemesidir. Gerçek para hareketi olmaz.
pay-merchant = { $merchant } için ödeme
payment-to = { $merchant } ödemesi
payout-from = { $merchant } tarafından size ödeme
reference = İşyeri referansı
payment-number = Ödeme kimliği
languages = Dil
lost = Bağlantı koptu. Denemeye devam ediyoruz.
refreshes = Bu sayfa her 15 saniyede bir kendiliğinden yenilenir.

## Zaman

time-left = Kalan süre
pay-by = Son ödeme: { $moment }
answer-by = Formu son doldurma: { $moment }
days = { $count } gün
time-over = Süre doldu
time-over-text = Ödemenizin ulaşıp ulaşmadığını kontrol ediyoruz.

## Kopyalama

copy = Kopyala
copied = Kopyalandı
copy-what = Kopyala: { $what }

## Sonraki adım

return-to = { $merchant } sayfasına dön
leave-for = Ödeme yapmadan { $merchant } sayfasına dön
leave-form-for = { $merchant } sayfasına geri dön
pay-now = Ödemeye devam et
open-wallet = Cüzdanda aç

## Ne oldu: para yatırma

deposit-transfer = Havalenizi bekliyoruz
deposit-transfer-text = Bankanızdan gösterildiği gibi gönderin. Ulaştığında burada haber veririz.
deposit-voucher = Ödemenizi bekliyoruz
deposit-voucher-text = Gişede nakit ödeyin. Ulaştığında burada haber veririz.
deposit-crypto = Ödemenizi bekliyoruz
deposit-crypto-text = Cüzdanınızdan gösterildiği gibi gönderin. Ulaştığında burada haber veririz.
deposit-redirect = Ödemeye hazır
deposit-redirect-text = Ödemeyi ödeme kuruluşunun güvenli sayfasında yaparsınız. Tamamlandığında burada haber veririz.
deposit-waiting = Ödemeniz hazırlanıyor
deposit-waiting-text = Ödeme bilgileri birazdan burada görünecek.
deposit-completed = Ödeme alındı
deposit-completed-text = Ödemeniz { $merchant } hesabına geçti. Yapmanız gereken başka bir şey yok.
deposit-late = Ödemeniz sonunda ulaştı
deposit-late-text = Süre dolduktan sonra geldi ve kabul edildi. Yapmanız gereken başka bir şey yok.
deposit-failed = Ödeme gerçekleşmedi
deposit-failed-text = { $merchant } sayfasına dönüp yeniden deneyebilirsiniz. Hesabınızdan para çıktıysa onlara aşağıdaki ödeme kimliğini bildirin.
deposit-expired = Ödeme süresi doldu
deposit-expired-text = Lütfen bu ödeme için artık para göndermeyin. Tutarın tamamını ödediyseniz para ulaştığında hesaba geçirilir; farklı bir tutar gönderdiyseniz { $merchant } tarafına aşağıdaki ödeme kimliğini bildirin.
deposit-cancelled = Ödeme iptal edildi
deposit-cancelled-text = Lütfen bu ödeme için artık para göndermeyin. Tutarın tamamını ödediyseniz para ulaştığında hesaba geçirilir; farklı bir tutar gönderdiyseniz { $merchant } tarafına aşağıdaki ödeme kimliğini bildirin. Ödemediyseniz { $merchant } sayfasına dönüp yeniden başlayın.
deposit-refunded = Paranız iade edildi
deposit-refunded-text = { $merchant } size { $refunded } iade etti. Bankanızın bunu göstermesi birkaç gün sürebilir.
deposit-part-refunded = Paranızın bir kısmı iade edildi
deposit-part-refunded-text = { $merchant } size { $refunded } iade etti. Bankanızın bunu göstermesi birkaç gün sürebilir.
received-instead = { $received } ulaştı ve kabul edildi.

## Ne oldu: para çekme

withdrawal-form = Para nereye gönderilsin?
withdrawal-form-text = Kendi hesabınızı girin. İyice kontrol edin: onayladıktan sonra değiştirilemez.
withdrawal-unavailable = { $merchant } şu anda hesabınızı alamıyor
withdrawal-unavailable-text = Hesabınızı ne zaman girebileceğinizi onlara sorun. Aşağıdaki süre işlemeye devam ediyor.
withdrawal-pending = Paranızın gönderimi hazırlanıyor
withdrawal-pending-text = Yapmanız gereken başka bir şey yok.
withdrawal-processing = Paranız yolda
withdrawal-processing-text = Bankanızın bunu göstermesi biraz sürebilir.
withdrawal-completed = Paranız gönderildi
withdrawal-completed-text = Yapmanız gereken başka bir şey yok.
withdrawal-failed = Gönderim gerçekleşmedi
withdrawal-failed-text = Para hâlâ { $merchant } hesabında. Ne yapmanız gerektiğini onlara sorun.
withdrawal-cancelled = Gönderim iptal edildi
withdrawal-cancelled-text = Para hâlâ { $merchant } hesabında. Bu parayı bekliyorsanız onlara sorun.
withdrawal-expired = Hesap girme süresi doldu
withdrawal-expired-text = Para hâlâ { $merchant } hesabında. Onlardan yeni bir bağlantı isteyin.
withdrawal-returned = Banka parayı geri gönderdi
withdrawal-returned-text = Alıcı banka parayı kabul etmedi. Para yeniden { $merchant } hesabında; ne yapmanız gerektiğini onlara sorun.

## Nasıl ödenir

how-to-pay = Nasıl ödenir
transfer-1 = Bankanızın uygulamasını veya sitesini açıp bir para transferi (havale/EFT/FAST) başlatın.
spei-1 = Bankanızın uygulamasını veya sitesini açıp bir SPEI havalesi başlatın.
transfer-2 = Aşağıdaki bilgileri aynen kopyalayın. Ödeme referansı olmadan ödemenizi eşleştiremeyiz.
transfer-3 = Tam olarak gösterilen tutarı gönderin.
payid-1 = Bankanızın uygulamasını açıp PayID ile ödemeyi seçin.
payid-2 = PayID’yi girin. Bankanız { $name } adını göstermelidir.
payid-3 = Ödeme referansını girin ve tam olarak gösterilen tutarı gönderin.
cashstore-1 = Süre dolmadan anlaşmalı bir mağazaya gidin.
cash-1 = Süre dolmadan bir ödeme gişesine gidin.
voucher-2 = Barkodu gösterin veya altındaki numarayı söyleyin.
voucher-barcode = Aşağıda gösterilen barkod numarasını söyleyin.
voucher-counter = Gişe için numarayı söyleyin: ödemeniz bu numarayla eşleştirilir.
voucher-3 = Nakit ödeyin ve makbuzu saklayın.
crypto-1 = Cüzdanınızı açın ve { $network } ağında { $asset } seçin.
crypto-2 = Kodu tarayın veya adresi kopyalayın.
crypto-3 = Bu ağda yalnızca { $asset } gönderin. Başka her şey kaybolur.
redirect-1 = Ödeme kuruluşuna geçmek için aşağıdaki düğmeyi kullanın.
redirect-2 = Ödemeyi orada onaylayın.
redirect-3 = Kendiliğinden geri getirilmezseniz buraya dönün. Orada zaten onayladıysanız burada bekleyin ve yeniden ödemeyin.
card-1 = Aşağıdaki düğmeyi kullanın. Kart bilgilerinizi burada değil, ödeme kuruluşunun kendi sayfasında girersiniz.
qr-of = Ödeme adresinin QR kodu
barcode-of = Barkod { $number }

## Alanlar

field-amount = Tutar
field-price = Fiyat
field-account-holder = Hesap sahibi
field-clabe = CLABE
field-bsb = BSB
field-bank = Banka
field-swift = SWIFT / BIC
field-purpose = Ödeme referansı (açıklama)
field-payid = PayID
field-payid-name = PayID adı
field-barcode = Barkod numarası
field-voucher = Gişe için numara
field-asset = Para birimi
field-network = Ağ
field-address = Adres
field-wallet-address = Cüzdan adresi
field-recipient = Alıcının adı
field-bank-account = Hesap numarası
field-cbu = CBU, CVU veya takma ad
field-bank-code = Banka kodu
field-account-type = Hesap türü
field-tax-id = Vergi numarası
field-payid-type = PayID türü
field-destination = Hedef

## Alıcının formu

your-account = Hesabınız
confirm-account = Hesabı onayla
goes-to = Gönderilen hesap
payid-email = E-posta adresi
payid-phone = Telefon numarası
payid-abn = ABN
hint-clabe = 18 rakam
hint-bsb = 6 rakam
hint-cbu = 22 rakam veya bir takma ad
hint-payid = Bankanızda kayıtlı olduğu gibi
please-correct = Lütfen işaretli yerleri düzeltin.
problem-required = Lütfen bu alanı doldurun.
problem-clabe = Bir CLABE 18 rakamdan oluşur. Boşluk veya kısa çizgi kullanmadan yalnızca rakam girin.
problem-slip = Hesap numarasında yazım hatası var. Lütfen her rakamı kontrol edin.
problem-cbu = Bir CBU veya CVU 22 rakamdan, bir takma ad 6 ila 20 harf, rakam, nokta ve kısa çizgiden oluşur.
problem-bsb = Bir BSB 6 rakamdan oluşur. Boşluk veya kısa çizgi kullanmadan yalnızca rakam girin.
problem-account = Yalnızca harf, rakam, nokta ve kısa çizgi. Lütfen yazım hatası olup olmadığına bakın.
problem-abn = Bir ABN, boşluksuz 11 rakamdan oluşur.
problem-abn-slip = ABN’de yazım hatası var. Lütfen her rakamı kontrol edin.
problem-payid = Bu, seçtiğiniz PayID türüne uymuyor.
problem-other = Lütfen bunu kontrol edin.
already-given = Hesap zaten girildi. Değiştirilemez.

## Benzetilmiş ödeme kuruluşu (deneme ortamı)

scheme-title = Benzetilmiş ödeme kuruluşu
scheme-text = Bu sayfa, deneme ortamında bir ödeme kuruluşunun sayfasının yerini tutar. Para hareketi olmaz.
scheme-name = Ödeme kuruluşu: { $name }
scheme-approve = Onayla
scheme-decline = Reddet
scheme-leave = Açık bırak
scheme-left-open = Ödeme açık bırakıldı.
scheme-approved = Bu ödeme onaylandı: para yolda.
scheme-declined = Bu ödeme reddedildi.
scheme-over = Bu ödeme artık açık değil.

## Bildirimler

no-page = Böyle bir sayfa yok
no-page-text = Lütfen bağlantıyı kontrol edin veya gönderenden yenisini isteyin.
too-many = Çok fazla istek
too-many-text = Lütfen bir dakika bekleyip sayfayı yeniden yükleyin.
unavailable = Sayfaya şu anda ulaşılamıyor
unavailable-text = Lütfen bir dakika sonra yeniden yükleyin. Ödemeniz bundan etkilenmez.
