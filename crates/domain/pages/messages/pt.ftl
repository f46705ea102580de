# O que lê quem paga e quem recebe. As mensagens e as variáveis são as mesmas em todos os arquivos.

## A moldura

title-of = { $what } · { $merchant }
test-mark = Teste
test-notice = Este é um pagamento de teste. Nenhum dinheiro real é movimentado.
pay-merchant = Pagar a { $merchant }
payment-to = Pagamento a { $merchant }
payout-from = Pagamento de { $merchant } para você
reference = Referência da loja
payment-number = ID do pagamento
languages = Idioma
lost = A conexão caiu. Continuamos tentando.
refreshes = Esta página se atualiza sozinha a cada 15 segundos.

## O tempo

time-left = Tempo restante
pay-by = Pague até { $moment }
answer-by = Preencha até { $moment }
days = { $count } d
time-over = O tempo acabou
time-over-text = Estamos verificando se o seu pagamento chegou.

## Copiar

copy = Copiar
copied = Copiado
copy-what = Copiar: { $what }

## Para onde ir depois

return-to = Voltar para { $merchant }
leave-for = Voltar para { $merchant } sem pagar
leave-form-for = Retornar para { $merchant }
pay-now = Continuar para o pagamento
open-wallet = Abrir na carteira

## O que aconteceu: depósitos

deposit-transfer = Aguardando a sua transferência
deposit-transfer-text = Envie-a pelo seu banco como indicado. Avisaremos aqui quando chegar.
deposit-voucher = Aguardando o seu pagamento
deposit-voucher-text = Pague em dinheiro no caixa. Avisaremos aqui quando chegar.
deposit-crypto = Aguardando o seu pagamento
deposit-crypto-text = Envie-o pela sua carteira como indicado. Avisaremos aqui quando chegar.
deposit-redirect = Tudo pronto para pagar
deposit-redirect-text = Você paga na página segura do sistema de pagamento. Avisaremos aqui quando estiver concluído.
deposit-waiting = Estamos preparando o seu pagamento
deposit-waiting-text = Os dados para pagar aparecem aqui em instantes.
deposit-completed = Pagamento recebido
deposit-completed-text = { $merchant } já recebeu o seu pagamento. Não há mais nada a fazer.
deposit-late = O seu pagamento chegou afinal
deposit-late-text = Ele chegou depois do prazo e foi aceito. Não há mais nada a fazer.
deposit-failed = O pagamento não foi concluído
deposit-failed-text = Você pode voltar para { $merchant } e tentar de novo. Se saiu dinheiro da sua conta, informe o ID do pagamento abaixo.
deposit-expired = O prazo para pagar terminou
deposit-expired-text = Por favor, não envie mais nada para este pagamento. Se você já pagou o valor total, ele será creditado quando chegar; se enviou outro valor, informe o ID do pagamento abaixo a { $merchant }.
deposit-cancelled = O pagamento foi cancelado
deposit-cancelled-text = Por favor, não envie mais nada para este pagamento. Se você já pagou o valor total, ele será creditado quando chegar; se enviou outro valor, informe o ID do pagamento abaixo a { $merchant }. Se ainda não pagou, volte para { $merchant } e comece de novo.
deposit-refunded = O seu dinheiro foi devolvido
deposit-refunded-text = { $merchant } devolveu { $refunded } a você. O seu banco pode levar alguns dias para mostrar.
deposit-part-refunded = Parte do seu dinheiro foi devolvida
deposit-part-refunded-text = { $merchant } devolveu { $refunded } a você. O seu banco pode levar alguns dias para mostrar.
received-instead = Chegaram { $received }, e o valor foi aceito.

## O que aconteceu: saques

withdrawal-form = Para onde enviamos o dinheiro?
withdrawal-form-text = Informe a sua própria conta. Confira bem: depois de confirmada, não pode ser alterada.
withdrawal-unavailable = { $merchant } não pode receber a sua conta no momento
withdrawal-unavailable-text = Pergunte a eles quando você poderá informá-la. O prazo indicado abaixo continua correndo.
withdrawal-pending = Estamos preparando o seu pagamento
withdrawal-pending-text = Não há mais nada a fazer.
withdrawal-processing = O seu pagamento está a caminho
withdrawal-processing-text = O seu banco pode levar algum tempo para mostrar.
withdrawal-completed = O seu pagamento foi enviado
withdrawal-completed-text = Não há mais nada a fazer.
withdrawal-failed = O envio não foi concluído
withdrawal-failed-text = O dinheiro continua com { $merchant }. Pergunte a eles o que fazer.
withdrawal-cancelled = O envio foi cancelado
withdrawal-cancelled-text = O dinheiro continua com { $merchant }. Se você o esperava, pergunte a eles.
withdrawal-expired = O prazo para informar uma conta terminou
withdrawal-expired-text = O dinheiro continua com { $merchant }. Peça a eles um novo link.
withdrawal-returned = O banco devolveu o envio
withdrawal-returned-text = O banco de destino não o aceitou. O dinheiro está novamente com { $merchant }; pergunte a eles o que fazer.

## Como pagar

how-to-pay = Como pagar
transfer-1 = Abra o aplicativo ou o site do seu banco e inicie uma transferência.
spei-1 = Abra o aplicativo ou o site do seu banco e inicie uma transferência SPEI.
transfer-2 = Copie exatamente os dados abaixo. Sem a referência de pagamento não conseguimos identificar o seu pagamento.
transfer-3 = Envie exatamente o valor indicado.
payid-1 = Abra o aplicativo do seu banco e escolha pagar a um PayID.
payid-2 = Informe o PayID. O seu banco deve mostrar o nome { $name }.
payid-3 = Informe a referência de pagamento e envie exatamente o valor indicado.
cashstore-1 = Vá a uma loja participante antes do fim do prazo.
cash-1 = Vá a um caixa de pagamentos antes do fim do prazo.
voucher-2 = Mostre o código de barras ou diga o número abaixo dele.
voucher-barcode = Diga o número do código de barras indicado abaixo.
voucher-counter = Diga o número para o caixa: ele identifica o seu pagamento.
voucher-3 = Pague em dinheiro e guarde o comprovante.
crypto-1 = Abra a sua carteira e escolha { $asset } na rede { $network }.
crypto-2 = Leia o código ou copie o endereço.
crypto-3 = Envie somente { $asset } nesta rede. Qualquer outra coisa se perde.
redirect-1 = Use o botão abaixo para continuar no sistema de pagamento.
redirect-2 = Confirme o pagamento lá.
redirect-3 = Volte aqui se não for trazido de volta automaticamente. Se você já confirmou lá, espere aqui e não pague de novo.
card-1 = Use o botão abaixo. Os dados do cartão são informados na página do sistema de pagamento, nunca aqui.
qr-of = Código QR do endereço de pagamento
barcode-of = Código de barras { $number }

## Campos

field-amount = Valor
field-price = Preço
field-account-holder = Titular da conta
field-clabe = CLABE
field-bsb = BSB
field-bank = Banco
field-swift = SWIFT / BIC
field-purpose = Referência de pagamento
field-payid = PayID
field-payid-name = Nome do PayID
field-barcode = Número do código de barras
field-voucher = Número para o caixa
field-asset = Moeda
field-network = Rede
field-address = Endereço
field-wallet-address = Endereço da carteira
field-recipient = Nome do favorecido
field-bank-account = Número da conta
field-cbu = CBU, CVU ou alias
field-bank-code = Código do banco
field-account-type = Tipo de conta
field-tax-id = Número de identificação fiscal
field-payid-type = Tipo de PayID
field-destination = Destino

## O formulário de quem recebe

your-account = A sua conta
confirm-account = Confirmar conta
goes-to = Vai para
payid-email = Endereço de e-mail
payid-phone = Número de telefone
payid-abn = ABN
hint-clabe = 18 dígitos
hint-bsb = 6 dígitos
hint-cbu = 22 dígitos, ou um alias
hint-payid = Como registrado no seu banco
please-correct = Corrija o que está marcado.
problem-required = Preencha este campo.
problem-clabe = Uma CLABE tem 18 dígitos. Somente dígitos, sem espaços nem hífens.
problem-slip = O número da conta tem um erro de digitação. Verifique cada dígito.
problem-cbu = Um CBU ou CVU tem 22 dígitos; um alias, de 6 a 20 letras, dígitos, pontos e hífens.
problem-bsb = Um BSB tem 6 dígitos. Somente dígitos, sem espaços nem hífens.
problem-account = Somente letras, dígitos, pontos e hífens. Verifique se há erros de digitação.
problem-abn = Um ABN tem 11 dígitos, sem espaços.
problem-abn-slip = O ABN tem um erro de digitação. Verifique cada dígito.
problem-payid = Isto não corresponde ao tipo de PayID escolhido.
problem-other = Verifique este dado.
already-given = A conta já foi informada. Não pode ser alterada.

## O sistema de pagamento simulado (ambiente de teste)

scheme-title = Sistema de pagamento simulado
scheme-text = Esta página substitui a de um sistema de pagamento no ambiente de teste. Nenhum dinheiro é movimentado.
scheme-name = Sistema de pagamento: { $name }
scheme-approve = Aprovar
scheme-decline = Recusar
scheme-leave = Deixar em aberto
scheme-left-open = O pagamento ficou em aberto.
scheme-approved = Este pagamento foi aprovado: o dinheiro está a caminho.
scheme-declined = Este pagamento foi recusado.
scheme-over = Este pagamento não está mais aberto.

## Avisos

no-page = Esta página não existe
no-page-text = Confira o link, ou peça um novo a quem o enviou.
too-many = Solicitações demais
too-many-text = Espere um minuto e carregue a página de novo.
unavailable = A página não está disponível no momento
unavailable-text = Carregue-a de novo em um minuto. O seu pagamento não é afetado.
