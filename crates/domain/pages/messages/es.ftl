# Lo que leen quienes pagan y quienes cobran. Los mensajes y las variables son los mismos en todos los archivos.

## El marco

title-of = { $what } · { $merchant }
test-mark = Prueba
test-notice = Este es un pago de prueba. No se mueve dinero real.
pay-merchant = Pagar a { $merchant }
payment-to = Pago a { $merchant }
payout-from = Pago de { $merchant } para usted
reference = Referencia del comercio
payment-number = ID del pago
languages = Idioma
lost = Se perdió la conexión. Seguimos intentando.
refreshes = Esta página se actualiza sola cada 15 segundos.

## El tiempo

time-left = Tiempo restante
pay-by = Pague antes del { $moment }
answer-by = Complete antes del { $moment }
days = { $count } d
time-over = Se acabó el tiempo
time-over-text = Estamos comprobando si su pago llegó.

## Copiar

copy = Copiar
copied = Copiado
copy-what = Copiar: { $what }

## A dónde ir después

return-to = Volver a { $merchant }
leave-for = Volver a { $merchant } sin pagar
leave-form-for = Regresar a { $merchant }
pay-now = Continuar al pago
open-wallet = Abrir en la billetera

## Qué pasó: depósitos

deposit-transfer = Esperamos su transferencia
deposit-transfer-text = Envíela desde su banco tal como se indica. Le avisaremos aquí cuando llegue.
deposit-voucher = Esperamos su pago
deposit-voucher-text = Pague en efectivo en la caja. Le avisaremos aquí cuando llegue.
deposit-crypto = Esperamos su pago
deposit-crypto-text = Envíelo desde su billetera tal como se indica. Le avisaremos aquí cuando llegue.
deposit-redirect = Todo listo para pagar
deposit-redirect-text = Usted paga en la página segura del sistema de pago. Le avisaremos aquí cuando esté hecho.
deposit-waiting = Estamos preparando su pago
deposit-waiting-text = Los datos para pagar aparecerán aquí en un momento.
deposit-completed = Pago recibido
deposit-completed-text = { $merchant } ya tiene su pago. No hay nada más que hacer.
deposit-late = Su pago sí llegó
deposit-late-text = Llegó después del plazo y fue aceptado. No hay nada más que hacer.
deposit-failed = El pago no se realizó
deposit-failed-text = Puede volver a { $merchant } e intentarlo de nuevo. Si salió dinero de su cuenta, indíqueles el ID del pago que aparece abajo.
deposit-expired = El plazo para pagar terminó
deposit-expired-text = Por favor, no envíe nada más para este pago. Si ya pagó el importe completo, se acreditará cuando llegue; si envió otro importe, indique a { $merchant } el ID del pago que aparece abajo.
deposit-cancelled = El pago fue cancelado
deposit-cancelled-text = Por favor, no envíe nada más para este pago. Si ya pagó el importe completo, se acreditará cuando llegue; si envió otro importe, indique a { $merchant } el ID del pago que aparece abajo. Si aún no pagó, vuelva a { $merchant } y empiece de nuevo.
deposit-refunded = Le devolvieron su dinero
deposit-refunded-text = { $merchant } le devolvió { $refunded }. Su banco puede tardar unos días en mostrarlo.
deposit-part-refunded = Le devolvieron parte de su dinero
deposit-part-refunded-text = { $merchant } le devolvió { $refunded }. Su banco puede tardar unos días en mostrarlo.
received-instead = Llegaron { $received } y fueron aceptados.

## Qué pasó: retiros

withdrawal-form = ¿A dónde enviamos el dinero?
withdrawal-form-text = Ingrese su propia cuenta. Revísela bien: una vez confirmada no se puede cambiar.
withdrawal-unavailable = { $merchant } no puede recibir su cuenta en este momento
withdrawal-unavailable-text = Pregúnteles cuándo podrá ingresarla. El plazo indicado abajo sigue corriendo.
withdrawal-pending = Estamos preparando su pago
withdrawal-pending-text = No hay nada más que hacer.
withdrawal-processing = Su pago está en camino
withdrawal-processing-text = Su banco puede tardar un poco en mostrarlo.
withdrawal-completed = Su pago fue enviado
withdrawal-completed-text = No hay nada más que hacer.
withdrawal-failed = El envío no se realizó
withdrawal-failed-text = El dinero sigue en { $merchant }. Pregúnteles qué hacer.
withdrawal-cancelled = El envío fue cancelado
withdrawal-cancelled-text = El dinero sigue en { $merchant }. Si lo esperaba, pregúnteles.
withdrawal-expired = El plazo para ingresar una cuenta terminó
withdrawal-expired-text = El dinero sigue en { $merchant }. Pídales un enlace nuevo.
withdrawal-returned = El banco devolvió el envío
withdrawal-returned-text = El banco receptor no lo aceptó. El dinero está otra vez en { $merchant }; pregúnteles qué hacer.

## Cómo pagar

how-to-pay = Cómo pagar
transfer-1 = Abra la aplicación o el sitio de su banco e inicie una transferencia.
spei-1 = Abra la aplicación o el sitio de su banco e inicie una transferencia SPEI.
transfer-2 = Copie exactamente los datos de abajo. Sin la referencia de pago no podemos identificar su pago.
transfer-3 = Envíe exactamente el importe indicado.
payid-1 = Abra la aplicación de su banco y elija pagar a un PayID.
payid-2 = Ingrese el PayID. Su banco debe mostrar el nombre { $name }.
payid-3 = Ingrese la referencia de pago y envíe exactamente el importe indicado.
cashstore-1 = Vaya a una tienda participante antes de que termine el plazo.
cash-1 = Vaya a una caja de pagos antes de que termine el plazo.
voucher-2 = Muestre el código de barras o diga el número que está debajo.
voucher-barcode = Diga el número del código de barras que aparece abajo.
voucher-counter = Diga el número para la caja: identifica su pago.
voucher-3 = Pague en efectivo y guarde el comprobante.
crypto-1 = Abra su billetera y elija { $asset } en la red { $network }.
crypto-2 = Escanee el código o copie la dirección.
crypto-3 = Envíe solo { $asset } por esta red. Cualquier otra cosa se pierde.
redirect-1 = Use el botón de abajo para continuar al sistema de pago.
redirect-2 = Confirme allí el pago.
redirect-3 = Vuelva aquí si no regresa automáticamente. Si ya confirmó allí, espere aquí y no pague de nuevo.
card-1 = Use el botón de abajo. Los datos de su tarjeta se ingresan en la página del sistema de pago, nunca aquí.
qr-of = Código QR de la dirección de pago
barcode-of = Código de barras { $number }

## Campos

field-amount = Importe
field-price = Precio
field-account-holder = Titular de la cuenta
field-clabe = CLABE
field-bsb = BSB
field-bank = Banco
field-swift = SWIFT / BIC
field-purpose = Referencia de pago
field-payid = PayID
field-payid-name = Nombre del PayID
field-barcode = Número del código de barras
field-voucher = Número para la caja
field-asset = Moneda
field-network = Red
field-address = Dirección
field-wallet-address = Dirección de la billetera
field-recipient = Nombre del beneficiario
field-bank-account = Número de cuenta
field-cbu = CBU, CVU o alias
field-bank-code = Código del banco
field-account-type = Tipo de cuenta
field-tax-id = Identificación fiscal
field-payid-type = Tipo de PayID
field-destination = Destino

## El formulario de quien cobra

your-account = Su cuenta
confirm-account = Confirmar cuenta
goes-to = Se envía a
payid-email = Correo electrónico
payid-phone = Número de teléfono
payid-abn = ABN
hint-clabe = 18 dígitos
hint-bsb = 6 dígitos
hint-cbu = 22 dígitos, o un alias
hint-payid = Como está registrado en su banco
please-correct = Corrija lo que está marcado.
problem-required = Complete este campo.
problem-clabe = Una CLABE tiene 18 dígitos. Solo dígitos, sin espacios ni guiones.
problem-slip = El número de cuenta tiene un error. Revise cada dígito.
problem-cbu = Un CBU o CVU tiene 22 dígitos; un alias, de 6 a 20 letras, dígitos, puntos y guiones.
problem-bsb = Un BSB tiene 6 dígitos. Solo dígitos, sin espacios ni guiones.
problem-account = Solo letras, dígitos, puntos y guiones. Revise que no haya errores.
problem-abn = Un ABN tiene 11 dígitos, sin espacios.
problem-abn-slip = El ABN tiene un error. Revise cada dígito.
problem-payid = Esto no corresponde al tipo de PayID elegido.
problem-other = Revise este dato.
already-given = La cuenta ya fue ingresada. No se puede cambiar.

## El sistema de pago simulado (entorno de prueba)

scheme-title = Sistema de pago simulado
scheme-text = Esta página reemplaza a la de un sistema de pago en el entorno de prueba. No se mueve dinero.
scheme-name = Sistema de pago: { $name }
scheme-approve = Aprobar
scheme-decline = Rechazar
scheme-leave = Dejar abierto
scheme-left-open = El pago quedó abierto.
scheme-approved = Este pago fue aprobado: el dinero está en camino.
scheme-declined = Este pago fue rechazado.
scheme-over = Este pago ya no está abierto.

## Avisos

no-page = Esta página no existe
no-page-text = Revise el enlace, o pida uno nuevo a quien se lo envió.
too-many = Demasiadas solicitudes
too-many-text = Espere un minuto y vuelva a cargar la página.
unavailable = La página no está disponible en este momento
unavailable-text = Vuelva a cargarla en un minuto. Su pago no se ve afectado.
