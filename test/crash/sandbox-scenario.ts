import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { requestData, sendGraphql } from '../support/market-client.ts'
import {
  BALANCE_QUERY,
  type BalanceData,
  CREATE_RECEIVE_MUTATION,
  CREATE_SEND_MUTATION,
  type CreatedTransaction,
  type CreateTransactionData,
  endsAs,
  FIND_TRANSACTION_QUERY,
  type FindTransactionData,
  openSandbox,
} from '../support/payments-client.ts'
import type { Product } from '../support/product.ts'

/** A team's wallet in its sandbox, with the team's dashboard token. */
export type SandboxWallet = { readonly id: string; readonly token: string }
export type SandboxProgress = { wallet?: SandboxWallet }

const END_TIMEOUT_MS = 60_000

/** An invoice is paid. A first send of it fails, and a second one pays it. Each call is repeated with its key. */
export async function runSandboxPayments(market: Product, progress: SandboxProgress): Promise<void> {
  progress.wallet ??= await openWallet(market)
  const { wallet } = progress
  const received = await createTransaction(market, wallet, {
    mutation: CREATE_RECEIVE_MUTATION,
    input: { idempotency_key: 'invoice', ...endsAs('complete'), amount: '2500', expires_in_seconds: 3600 },
  })
  await waitForEnd(market, wallet, received, 'COMPLETED')
  for (const [key, behavior, status] of [
    ['first send', 'fail', 'FAILED'],
    ['second send', 'complete', 'COMPLETED'],
  ] as const) {
    const input = { idempotency_key: key, ...endsAs(behavior), request: { bolt11: received.payment_request } }
    await waitForEnd(market, wallet, await createTransaction(market, wallet, { mutation: CREATE_SEND_MUTATION, input }), status)
  }
  const { payment } = await requestData<BalanceData>(market, BALANCE_QUERY, { id: wallet.id }, wallet.token)
  const { balance, received: total } = payment.wallet.find_one.balance
  if (balance !== '0' || total !== '2500') throw new Error(`the wallet received ${total}, and shows the balance ${balance}`)
}

async function openWallet(market: Product): Promise<SandboxWallet> {
  const { walletId: id, token } = await openSandbox(market)
  return { id, token }
}

type TransactionRequest = {
  readonly mutation: string
  readonly input: { readonly idempotency_key: string; readonly [field: string]: unknown }
}

/** Makes two calls with one key. After a crash, the market may still process the call from before the crash. */
async function createTransaction(
  { url }: Product,
  { id: walletId, token }: SandboxWallet,
  { mutation, input }: TransactionRequest,
): Promise<CreatedTransaction> {
  // A refusal is retried. Without a market the request throws, which ends the scenario.
  const call = () =>
    waitUntil(
      `an answer to the key "${input.idempotency_key}"`,
      async () => {
        const { data } = await sendGraphql<CreateTransactionData | null>(
          url,
          mutation,
          { input: { wallet_id: walletId, ...input } },
          token,
        )
        return data?.payment.transaction.created
      },
      END_TIMEOUT_MS,
    )
  const [created, repeated] = [await call(), await call()]
  if (repeated.id !== created.id || repeated.payment_request !== created.payment_request)
    throw new Error(`the key "${input.idempotency_key}" made the transactions ${created.id} and ${repeated.id}`)
  return created
}

async function waitForEnd(
  market: Product,
  { token }: SandboxWallet,
  { id }: CreatedTransaction,
  status: 'COMPLETED' | 'FAILED',
): Promise<void> {
  const readStatus = async (): Promise<string> =>
    (await requestData<FindTransactionData>(market, FIND_TRANSACTION_QUERY, { id }, token)).payment.transaction.find_one.status
  const end = await waitUntil(
    `the end of transaction ${id}`,
    async () => {
      const shown = await readStatus()
      return shown === 'PENDING' ? null : shown
    },
    END_TIMEOUT_MS,
  )
  if (end !== status) throw new Error(`transaction ${id} ended as ${end}, and its caller chose ${status}`)
}
