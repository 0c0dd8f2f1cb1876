import { AMOUNT, ASSET, type ClientDocument, page, UNKNOWN_ID } from './client-document.fixture.ts'

const TRANSACTION = `id wallet_id node_id idempotency_key direction status amount { ${AMOUNT} } amount_sats
  asset { ${ASSET} } settle_amount { ${AMOUNT} } settle_amount_sats settled_at exchange_rate fee payment_request payment_hash
  preimage description metadata error expires_at events { id event_type message details created_at } created_at updated_at`
const RECORD = `fragment Transaction on PaymentsTransaction { ${TRANSACTION} }`
const ENTRY = `id wallet_id direction status amount { ${AMOUNT} } asset { ${ASSET} } fee description metadata settled_at created_at updated_at`
const LIST = `fragment Entry on SimplePaymentsTransaction { ${ENTRY} }`
const SEND = `mutation Pay($input: CreateSendTransactionInput!) {
  payment { transaction { create_send(input: $input) { ...Transaction } } }
} ${RECORD}`
const CREATE_SEND = 'payment.transaction.create_send'
const DESTINATION = 'id environment_id wallet_id name type value created_at updated_at'
const address = { lightning_address: 'someone@example.com', amount: '700' }

export const transactionDocuments: readonly ClientDocument[] = [
  {
    name: 'an invoice, created',
    document: `mutation Charge($input: CreateReceiveTransactionInput!) {
      payment { id transaction { id create_receive(input: $input) { ...Transaction } } }
    } ${RECORD}`,
    variables: ({ walletId }) => ({
      input: {
        wallet_id: walletId,
        amount: '2100',
        description: 'tea',
        expires_in_seconds: 900,
        idempotency_key: 'tea-1',
        metadata: '{"table": 4}',
      },
    }),
    caller: 'service',
    path: 'payment.transaction.create_receive',
  },
  {
    name: 'an invoice with the hash of its description',
    document: `mutation Charge($wallet: String!, $amount: String!, $hash: String!) { payment { transaction {
      create_receive(input: { wallet_id: $wallet, amount: $amount, bolt11: { description_hash: $hash } }) { ...Transaction }
    } } } ${RECORD}`,
    variables: ({ walletId }) => ({ wallet: walletId, amount: '1', hash: '5c'.repeat(32) }),
    caller: 'service',
    path: 'payment.transaction.create_receive',
  },
  {
    name: 'a transaction by its id',
    document: `query One($id: String!) { payment { transaction { find_one(id: $id) { ...Transaction } } } } ${RECORD}`,
    variables: ({ transactionId: id }) => ({ id }),
    caller: 'service',
    path: 'payment.transaction.find_one.settle_amount',
  },
  {
    name: 'a transaction by its payment hash',
    document: `query One($hash: String!) {
      payment { transaction { find_one(lightning: { payment_hash: $hash }) { ...Transaction } } }
    } ${RECORD}`,
    variables: ({ paymentHash: hash }) => ({ hash }),
    caller: 'dashboard',
    path: 'payment.transaction.find_one',
  },
  {
    name: 'transactions of a wallet',
    document: `query Many($input: ListTransactionsInput!) { payment { transaction { find_many(input: $input) { ${page('...Entry')} } } } } ${LIST}`,
    variables: ({ walletId }) => ({ input: { wallet_id: walletId, page: { limit: 5, offset: 0 } } }),
    caller: 'service',
    path: 'payment.transaction.find_many.list.0',
  },
  {
    name: 'transactions of an environment through a filter',
    document: `query Many($environment: String, $filter: ListTransactionsFilterInput, $page: PageInput) {
      payment { transaction { find_many(input: { environment_id: $environment, filter: $filter, page: $page }) { ${page('...Entry')} } } }
    } ${LIST}`,
    variables: ({ environmentId }) => ({
      environment: environmentId,
      filter: { direction: 'RECEIVE', status: 'COMPLETED', date_range: { from: '2026-11-20T00:00:00.000Z' } },
      page: { limit: 10 },
    }),
    caller: 'dashboard',
    path: 'payment.transaction.find_many.list.0',
  },
  {
    name: 'transactions of a direction, a status and a range of dates, each in a variable of its type',
    document: `query Many($wallet: String, $direction: PaymentsTransactionDirection, $status: PaymentsTransactionStatus, $range: DateRangeInput) {
      payment { transaction { find_many(input: {
        wallet_id: $wallet, filter: { direction: $direction, status: $status, date_range: $range }
      }) { ${page('...Entry')} } } }
    } ${LIST}`,
    variables: ({ walletId }) => ({
      wallet: walletId,
      direction: 'RECEIVE',
      status: 'COMPLETED',
      range: { from: '2026-11-20T00:00:00.000Z', to: '2026-11-21T00:00:00.000Z' },
    }),
    caller: 'service',
    path: 'payment.transaction.find_many.list.0',
  },
  {
    name: 'a send to an invoice',
    document: SEND,
    variables: ({ walletId, invoice: bolt11 }) => ({
      input: { wallet_id: walletId, request: { bolt11 }, idempotency_key: 'rent', metadata: '{"month": 11}' },
    }),
    caller: 'service',
    path: CREATE_SEND,
  },
  {
    name: 'a send to an invoice without an amount',
    document: SEND,
    variables: ({ walletId, openInvoice: bolt11 }) => ({ input: { wallet_id: walletId, request: { bolt11, amount: '900' } } }),
    caller: 'service',
    path: CREATE_SEND,
  },
  {
    name: 'a send to a Lightning address',
    document: SEND,
    variables: ({ walletId }) => ({ input: { wallet_id: walletId, address } }),
    caller: 'service',
    path: CREATE_SEND,
  },
  {
    name: 'a send to a destination',
    document: SEND,
    variables: ({ walletId }) => ({ input: { wallet_id: walletId, destination: { id: UNKNOWN_ID, amount: '700' } } }),
    caller: 'service',
    path: CREATE_SEND,
    servedWith: 'live wallets',
  },
  {
    name: 'a send that the service pays',
    document: SEND,
    variables: ({ walletId }) => ({ input: { wallet_id: walletId, address, max_fee: '10' } }),
    caller: 'service',
    path: CREATE_SEND,
    servedWith: 'live wallets',
  },
  {
    name: 'the highest fee of a send',
    document: 'query Fee($id: String!) { payment { transaction { find_one(id: $id) { id fee max_fee } } } }',
    variables: ({ transactionId: id }) => ({ id }),
    caller: 'service',
    path: 'payment.transaction.find_one',
    servedWith: 'live wallets',
  },
  {
    name: 'a destination, created',
    document: `mutation Save($input: CreateDestinationInput!) { payment { destination { id create(input: $input) { ${DESTINATION} } } } }`,
    variables: ({ environmentId, walletId }) => ({
      input: {
        environment_id: environmentId,
        wallet_id: walletId,
        name: 'landlord',
        type: 'LIGHTNING_ADDRESS',
        value: 'someone@example.com',
      },
    }),
    caller: 'service',
    path: 'payment.destination.create',
    servedWith: 'live wallets',
  },
  {
    name: 'a destination, changed',
    document: `mutation Change($input: UpdateDestinationInput!) { payment { destination { update(input: $input) { ${DESTINATION} } } } }`,
    variables: () => ({ input: { id: UNKNOWN_ID, name: 'landlady' } }),
    caller: 'service',
    path: 'payment.destination.update',
    servedWith: 'live wallets',
  },
  {
    name: 'a destination by its id',
    document: `query One($id: String!) { payment { destination { find_one(id: $id) { ${DESTINATION} } } } }`,
    variables: () => ({ id: UNKNOWN_ID }),
    caller: 'service',
    path: 'payment.destination.find_one',
    servedWith: 'live wallets',
  },
  {
    name: 'the destinations of a wallet',
    document: `query Many($wallet: String) { payment { destination { find_many(input: { wallet_id: $wallet }) { ${page(DESTINATION)} } } } }`,
    variables: ({ walletId }) => ({ wallet: walletId }),
    caller: 'service',
    path: 'payment.destination.find_many',
    servedWith: 'live wallets',
  },
  {
    name: 'the deletion of a destination',
    document: 'mutation Forget($id: String!) { payment { destination { delete(id: $id) } } }',
    variables: () => ({ id: UNKNOWN_ID }),
    caller: 'service',
    path: 'payment.destination.delete',
    servedWith: 'live wallets',
  },
]
