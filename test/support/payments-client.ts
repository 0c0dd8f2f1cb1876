import { randomUUID } from 'node:crypto'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { type GraphqlError, requestData, sendGraphql } from './market-client.ts'

const CREATE_ACCOUNT = 'mutation ($input: CreateAccountInput!) { account { create(input: $input) { token } } }'
export const CREATE_ENVIRONMENT =
  'mutation ($input: CreatePaymentsEnvironmentInput!) { payment { environment { create(input: $input) { id } } } }'
const FIND_WALLETS = 'query ($input: FindManyWalletsInput!) { payment { wallet { find_many(input: $input) { list { id } } } } }'
export const CREATE_KEY =
  'mutation ($input: CreateServiceApiKeyInput!) { service_api_key { create(input: $input) { id plaintext_key } } }'
const REVOKE_KEY = 'mutation ($id: String!) { service_api_key { revoke(id: $id) { active } } }'
const TRANSACTION =
  'id status direction payment_request payment_hash error amount { full_amount } settle_amount { full_amount } events { event_type }'
const CREATE_RECEIVE = `mutation ($input: CreateReceiveTransactionInput!) { payment { transaction { create_receive(input: $input) { ${TRANSACTION} } } } }`
const CREATE_SEND = `mutation ($input: CreateSendTransactionInput!) { payment { transaction { create_send(input: $input) { ${TRANSACTION} } } } }`
const FIND_TRANSACTION = `query ($id: String!) { payment { transaction { find_one(id: $id) { ${TRANSACTION} } } } }`
const FIND_TRANSACTIONS =
  'query ($input: ListTransactionsInput!) { payment { transaction { find_many(input: $input) { total_count list { id status created_at } } } } }'
const FIND_WALLET = 'query ($id: String!) { payment { wallet { find_one(id: $id) { balance { balance received sent } } } } }'

export type Market = { readonly url: string }
export type Sandbox = { readonly token: string; readonly environmentId: string; readonly walletId: string }
export type ServiceKey = { readonly id: string; readonly key: string }
export type Transaction = {
  readonly id: string
  readonly status: 'PENDING' | 'COMPLETED' | 'FAILED' | 'EXPIRED'
  readonly direction: 'RECEIVE' | 'SEND'
  readonly payment_request: string
  readonly payment_hash: string
  readonly error: string | null
  readonly amount: { readonly full_amount: string }
  readonly settle_amount: { readonly full_amount: string } | null
  readonly events: readonly { readonly event_type: string }[]
}
export type TransactionPage = {
  readonly total_count: number
  readonly list: readonly (Pick<Transaction, 'id' | 'status'> & { readonly created_at: string })[]
}
export type Balance = { readonly balance: string; readonly received: string; readonly sent: string }
/** The answer to one operation: its value, or the errors with which the market refused it. */
export type PaymentsAnswer<T> = { readonly status: number; readonly value?: T; readonly errors?: readonly GraphqlError[] }

/** @returns the dashboard token of a new account */
export async function signUp(market: Market): Promise<string> {
  const input = { email: `${randomUUID()}@example.org`, password: 'correct horse battery staple' }
  type Created = { account: { create: { token: string } } }
  return (await requestData<Created>(market, CREATE_ACCOUNT, { input })).account.create.token
}

/** Signs up a new team, and creates a sandbox for it. */
export async function openSandbox(market: Market): Promise<Sandbox> {
  const token = await signUp(market)
  type Created = { payment: { environment: { create: { id: string } } } }
  const input = { name: 'shop', type: 'SANDBOX' }
  const environmentId = (await requestData<Created>(market, CREATE_ENVIRONMENT, { input }, token)).payment.environment.create.id
  type Found = { payment: { wallet: { find_many: { list: readonly { id: string }[] } } } }
  const { list } = (await requestData<Found>(market, FIND_WALLETS, { input: { environment_id: environmentId } }, token)).payment
    .wallet.find_many
  const [wallet] = list
  if (!wallet) throw new Error('the sandbox has no wallet')
  return { token, environmentId, walletId: wallet.id }
}

/** Permissions to create transactions and to read wallets. */
const SHOP_PERMISSIONS = [
  { resource: 'PAYMENTS', level: 'WRITE' },
  { resource: 'WALLETS', level: 'READ' },
]

/** Issues a key that may create transactions and read wallets, unless the input names other permissions. */
export async function issueServiceKey(
  market: Market,
  { token, environmentId }: Sandbox,
  input: object = {},
): Promise<ServiceKey> {
  const variables = {
    input: { name: 'server of the shop', environment_id: environmentId, permissions: SHOP_PERMISSIONS, ...input },
  }
  type Created = { service_api_key: { create: { id: string; plaintext_key: string } } }
  const { id, plaintext_key: key } = (await requestData<Created>(market, CREATE_KEY, variables, token)).service_api_key.create
  return { id, key }
}

export const revokeServiceKey = (market: Market, { token }: Sandbox, { id }: ServiceKey): Promise<unknown> =>
  requestData(market, REVOKE_KEY, { id }, token)

/** Creates the metadata that chooses the end of a transaction in a sandbox. */
export const endsAs = (behavior: 'complete' | 'fail' | 'expire'): { readonly metadata: string } => ({
  metadata: JSON.stringify({ svc_sandbox_behavior: behavior }),
})

/** Calls payments as a service with its key. Each call has a connection of its own, so that any gateway may receive it. */
export function createPaymentsClient({ url }: Market, { environmentId, walletId }: Sandbox, { key }: ServiceKey) {
  async function call<T>(query: string, variables: object, path: string): Promise<PaymentsAnswer<T>> {
    const headers = { 'x-api-key': key, connection: 'close' }
    const { status, data, errors } = await sendGraphql<object>(url, query, variables, undefined, headers)
    if (errors) return { status, errors }
    // The caller gives the type of the value at the path.
    const value = path.split('.').reduce<unknown>((at, name) => (at as Record<string, unknown>)[name], data) as T
    return { status, value }
  }
  async function read<T>(query: string, variables: object, path: string): Promise<T> {
    const { value, errors } = await call<T>(query, variables, path)
    if (value === undefined || errors) throw new Error(`the market refused the request: ${JSON.stringify(errors)}`)
    return value
  }
  const receive = (input: object = {}) =>
    call<Transaction>(
      CREATE_RECEIVE,
      { input: { wallet_id: walletId, amount: '1000', ...input } },
      'payment.transaction.create_receive',
    )
  const send = (input: object) =>
    call<Transaction>(CREATE_SEND, { input: { wallet_id: walletId, ...input } }, 'payment.transaction.create_send')
  const find = (id: string) => read<Transaction>(FIND_TRANSACTION, { id }, 'payment.transaction.find_one')
  return {
    receive,
    send,
    find,
    /** Calls an operation with the service's key, and reads the value at a path of the answer. */
    call,
    list: (input: object = {}) =>
      call<TransactionPage>(
        FIND_TRANSACTIONS,
        { input: { environment_id: environmentId, ...input } },
        'payment.transaction.find_many',
      ),
    readBalance: async () => (await read<{ balance: Balance }>(FIND_WALLET, { id: walletId }, 'payment.wallet.find_one')).balance,
    /** Waits until the transaction has ended. */
    waitForEnd: (id: string, timeoutMs = 60_000): Promise<Transaction> =>
      waitUntil(
        `the end of transaction ${id}`,
        async () => {
          const transaction = await find(id)
          return transaction.status === 'PENDING' ? null : transaction
        },
        timeoutMs,
        250,
      ),
  }
}
export type PaymentsClient = ReturnType<typeof createPaymentsClient>

/** @returns the value of an answer @throws Error with the refusal */
export function requireValue<T>({ value, errors }: PaymentsAnswer<T>): T {
  if (value === undefined) throw new Error(`the market refused the request: ${JSON.stringify(errors)}`)
  return value
}

/** The code of a refusal; undefined for an accepted call. */
export const readRefusalCode = ({ errors }: PaymentsAnswer<unknown>): string | undefined => errors?.[0]?.extensions?.code
