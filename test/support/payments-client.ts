import { randomUUID } from 'node:crypto'
import { createClient, isPenstockError } from '@penstock/client/index.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { type GraphqlError, requestData } from './market-client.ts'

const CREATE_ACCOUNT_MUTATION = 'mutation ($input: CreateAccountInput!) { account { create(input: $input) { token } } }'
export const CREATE_ENVIRONMENT_MUTATION =
  'mutation ($input: CreatePaymentsEnvironmentInput!) { payment { environment { create(input: $input) { id } } } }'
export type CreateEnvironmentData = { readonly payment: { readonly environment: { readonly create: { readonly id: string } } } }

export const CREATE_ENDPOINT_MUTATION =
  'mutation ($input: CreateWebhookEndpointInput!) { payment { webhook_endpoint { create(input: $input) { id secret } } } }'
export type CreateEndpointData = {
  readonly payment: { readonly webhook_endpoint: { readonly create: { readonly id: string; readonly secret: string } } }
}

export const WALLETS_QUERY =
  'query ($input: FindManyWalletsInput!) { payment { wallet { find_many(input: $input) { list { id } } } } }'
export type WalletsData = {
  readonly payment: { readonly wallet: { readonly find_many: { readonly list: readonly { readonly id: string }[] } } }
}

export const BALANCE_QUERY =
  'query ($id: String!) { payment { wallet { find_one(id: $id) { balance { balance received sent } } } } }'
export type BalanceData = {
  readonly payment: { readonly wallet: { readonly find_one: { readonly balance: WalletBalance } } }
}
/** Amounts in base units of the wallet's asset. */
export type WalletBalance = { readonly balance: string; readonly received: string; readonly sent: string }

export const CREATE_KEY_MUTATION =
  'mutation ($input: CreateServiceApiKeyInput!) { service_api_key { create(input: $input) { id plaintext_key } } }'
const REVOKE_KEY_MUTATION = 'mutation ($id: String!) { service_api_key { revoke(id: $id) { active } } }'

const createReceiveMutation = (fields: string): string =>
  `mutation ($input: CreateReceiveTransactionInput!) { payment { transaction { created: create_receive(input: $input) { ${fields} } } } }`
const createSendMutation = (fields: string): string =>
  `mutation ($input: CreateSendTransactionInput!) { payment { transaction { created: create_send(input: $input) { ${fields} } } } }`
const CREATED_FIELDS = 'id payment_request payment_hash'
export const CREATE_RECEIVE_MUTATION = createReceiveMutation(CREATED_FIELDS)
export const CREATE_SEND_MUTATION = createSendMutation(CREATED_FIELDS)
/** The answer of both operations. */
export type CreateTransactionData = { readonly payment: { readonly transaction: { readonly created: CreatedTransaction } } }
export type CreatedTransaction = Pick<Transaction, 'id' | 'payment_request' | 'payment_hash'>

const TRANSACTION_FIELDS =
  'id status direction payment_request payment_hash error amount { full_amount } settle_amount { full_amount } events { event_type }'
export const FIND_TRANSACTION_QUERY = `query ($id: String!) { payment { transaction { find_one(id: $id) { ${TRANSACTION_FIELDS} } } } }`
export type FindTransactionData = { readonly payment: { readonly transaction: { readonly find_one: Transaction } } }
const TRANSACTIONS_QUERY =
  'query ($input: ListTransactionsInput!) { payment { transaction { find_many(input: $input) { total_count list { id status created_at } } } } }'

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
/** The answer to one operation: its value, or the errors with which the market refused it. */
export type PaymentsAnswer<T> = { readonly status: number; readonly value?: T; readonly errors?: readonly GraphqlError[] }

/** @returns the dashboard token of a new account */
export async function signUp(market: Market): Promise<string> {
  const input = { email: `${randomUUID()}@example.org`, password: 'correct horse battery staple' }
  type Created = { account: { create: { token: string } } }
  return (await requestData<Created>(market, CREATE_ACCOUNT_MUTATION, { input })).account.create.token
}

/** Signs up a new team, and creates a sandbox for it. */
export async function openSandbox(market: Market): Promise<Sandbox> {
  const token = await signUp(market)
  const request = <T>(query: string, input: object): Promise<T> => requestData<T>(market, query, { input }, token)
  const created = await request<CreateEnvironmentData>(CREATE_ENVIRONMENT_MUTATION, { name: 'shop', type: 'SANDBOX' })
  const environmentId = created.payment.environment.create.id
  const found = await request<WalletsData>(WALLETS_QUERY, { environment_id: environmentId })
  const [wallet] = found.payment.wallet.find_many.list
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
  const { id, plaintext_key: key } = (await requestData<Created>(market, CREATE_KEY_MUTATION, variables, token)).service_api_key
    .create
  return { id, key }
}

export const revokeServiceKey = (market: Market, { token }: Sandbox, { id }: ServiceKey): Promise<unknown> =>
  requestData(market, REVOKE_KEY_MUTATION, { id }, token)

/** Creates the metadata that chooses the end of a transaction in a sandbox. */
export const endsAs = (behavior: 'complete' | 'fail' | 'expire'): { readonly metadata: string } => ({
  metadata: JSON.stringify({ svc_sandbox_behavior: behavior }),
})

/** Calls payments as a service with its key. Each call has a connection of its own, so that any gateway may receive it. */
export function createPaymentsClient({ url }: Market, { environmentId, walletId }: Sandbox, { key }: ServiceKey) {
  const client = createClient({ url, apiKey: key, headers: { connection: 'close' } })
  async function call<T>(query: string, variables: object, path: string): Promise<PaymentsAnswer<T>> {
    try {
      const data = await client.request(query, variables)
      // The caller gives the type of the value at the path.
      return {
        status: 200,
        value: path.split('.').reduce<unknown>((at, name) => (at as Record<string, unknown>)[name], data) as T,
      }
    } catch (error) {
      if (!isPenstockError(error) || error.status === undefined) throw error
      return { status: error.status, errors: error.errors }
    }
  }
  async function read<T>(query: string, variables: object, path: string): Promise<T> {
    const { value, errors } = await call<T>(query, variables, path)
    if (value === undefined || errors) throw new Error(`the market refused the request: ${JSON.stringify(errors)}`)
    return value
  }
  const receive = (input: object = {}) =>
    call<Transaction>(
      createReceiveMutation(TRANSACTION_FIELDS),
      { input: { wallet_id: walletId, amount: '1000', ...input } },
      'payment.transaction.created',
    )
  const send = (input: object) =>
    call<Transaction>(
      createSendMutation(TRANSACTION_FIELDS),
      { input: { wallet_id: walletId, ...input } },
      'payment.transaction.created',
    )
  const find = (id: string) => read<Transaction>(FIND_TRANSACTION_QUERY, { id }, 'payment.transaction.find_one')
  return {
    receive,
    send,
    find,
    /** Calls an operation with the service's key, and reads the value at a path of the answer. */
    call,
    list: (input: object = {}) =>
      call<TransactionPage>(
        TRANSACTIONS_QUERY,
        { input: { environment_id: environmentId, ...input } },
        'payment.transaction.find_many',
      ),
    readBalance: () => read<WalletBalance>(BALANCE_QUERY, { id: walletId }, 'payment.wallet.find_one.balance'),
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
