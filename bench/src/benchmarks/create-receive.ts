import { join } from 'node:path'
import { sqliteEventStore } from '@penstock/adapters/sqlite/event-store.ts'
import { openMarketLog } from '@penstock/adapters/sqlite/market-log.ts'
import { encodePaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import { derivePubkey } from '@penstock/bitcoin/pubkey.ts'
import type { EventStore } from '@penstock/ports/event-store.ts'
import { requestData } from '../../../test/support/market-client.ts'
import { type Product, startProduct } from '../../../test/support/product.ts'
import { measureThroughput, openJsonClient } from '../callers.ts'
import { type Benchmark, type BenchmarkRow, type BenchmarkSize, compareToReference } from '../harness.ts'
import { createTempFolder } from '../sample-stores.ts'

const ROUNDS = 9
/** Calls per round, by number of callers. */
const CALLS = new Map([
  [1, 200],
  [16, 400],
  [64, 400],
])
/** Calls before the rounds of each number of callers. V8 compiles the code of a call for more than a thousand calls. */
const WARM_UP_CALLS = 2000
const TARGET = 0.25
/** Seconds between blocks. The market's own sellers also work on each block. */
const BLOCK_SECONDS = '5'

const CREATE_ACCOUNT = 'mutation ($input: CreateAccountInput!) { account { create(input: $input) { token } } }'
const CREATE_ENVIRONMENT =
  'mutation ($input: CreatePaymentsEnvironmentInput!) { payment { environment { create(input: $input) { id } } } }'
const FIND_WALLETS = 'query ($input: FindManyWalletsInput!) { payment { wallet { find_many(input: $input) { list { id } } } } }'
const CREATE_RECEIVE = `mutation ($input: CreateReceiveTransactionInput!) { payment { transaction { create_receive(input: $input) {
  id status payment_request payment_hash expires_at } } } }`

/** Compares `create_receive` at a running market with a durable append and a signature for each call. */
export const createReceiveBenchmark: Benchmark = {
  name: 'create-receive',
  async run({ isQuick }: BenchmarkSize) {
    const folder = createTempFolder('create-receive')
    const product = await startProduct(join(folder, 'market'), {
      PENSTOCK_LOG_LEVEL: 'error',
      PENSTOCK_SIM_BLOCK_SECONDS: BLOCK_SECONDS,
      // The caller of the benchmark sends far more requests than a dashboard may.
      PENSTOCK_DASHBOARD_PER_MINUTE: '0',
    })
    const log = openMarketLog(join(folder, 'reference.db'))
    const store = sqliteEventStore(log)
    try {
      const sandbox = await createSandbox(product)
      const rows: BenchmarkRow[] = []
      for (const [callers, calls] of CALLS) {
        const load = isQuick
          ? { callers, calls: callers, warmUpCalls: callers, rounds: 1 }
          : { callers, calls, warmUpCalls: WARM_UP_CALLS, rounds: ROUNDS }
        rows.push(...(await compareCallers(load, `${product.url}/graphql`, sandbox, store)))
      }
      return rows
    } finally {
      await store.close()
      await log.close()
      await product.stop()
    }
  },
}

type Sandbox = { readonly token: string; readonly walletId: string }

async function createSandbox(product: Pick<Product, 'url' | 'operator'>): Promise<Sandbox> {
  const { account } = await requestData<{ account: { create: { token: string } } }>(product, CREATE_ACCOUNT, {
    input: { email: 'bench@example.org', password: 'correct horse battery' },
  })
  const { token } = account.create
  const created = await requestData<{ payment: { environment: { create: { id: string } } } }>(
    product,
    CREATE_ENVIRONMENT,
    { input: { name: 'bench', type: 'SANDBOX' } },
    token,
  )
  const found = await requestData<{ payment: { wallet: { find_many: { list: { id: string }[] } } } }>(
    product,
    FIND_WALLETS,
    { input: { environment_id: created.payment.environment.create.id } },
    token,
  )
  const [wallet] = found.payment.wallet.find_many.list
  if (!wallet) throw new Error('the sandbox came without a wallet')
  return { token, walletId: wallet.id }
}

type CallerLoad = { readonly callers: number; readonly calls: number; readonly warmUpCalls: number; readonly rounds: number }

async function compareCallers(
  { callers, calls, warmUpCalls, rounds }: CallerLoad,
  url: string,
  { token, walletId }: Sandbox,
  store: Pick<EventStore, 'append'>,
): Promise<readonly BenchmarkRow[]> {
  const client = openJsonClient(url, callers, { authorization: `Bearer ${token}` })
  const body = JSON.stringify({ query: CREATE_RECEIVE, variables: { input: { wallet_id: walletId, amount: '1000' } } })
  const createReceive = async (): Promise<void> => {
    const answer = await client.call(body)
    if (!answer.includes('"payment_request":"lnbcrt')) throw new Error(`create_receive failed: ${answer}`)
  }
  const signAndAppend = (): Promise<void> => appendInvoice(store)
  await measureThroughput(callers, warmUpCalls, createReceive)
  await measureThroughput(callers, warmUpCalls, signAndAppend)
  const rows = await compareToReference({
    rows: [
      {
        description: `create_receive, ${callers} ${callers === 1 ? 'caller' : 'callers'}`,
        unit: 'calls/s',
        target: TARGET,
      },
    ],
    measure: async () => [await measureThroughput(callers, calls, createReceive)],
    reference: {
      name: 'one durable append + one BOLT 11 signature, as many at once',
      measure: async () => [await measureThroughput(callers, calls, signAndAppend)],
    },
    rounds,
  })
  client.close()
  return rows
}

const SECRET_KEY = new Uint8Array(32).fill(7)
const PAYEE = derivePubkey(SECRET_KEY)

let invoices = 0
/** Signs an invoice, and appends one event of the size of a fact to a new stream. */
async function appendInvoice(store: Pick<EventStore, 'append'>): Promise<void> {
  const hex = String(++invoices).padStart(64, '0')
  const invoice = encodePaymentRequest(
    {
      network: 'regtest',
      paymentHash: hex,
      amountMsat: 1_000_000n,
      paymentSecret: hex,
      createdAt: Date.now(),
      expirySeconds: 3600,
      cltvDelta: 80,
      description: '',
      payee: PAYEE,
    },
    SECRET_KEY,
  )
  const event = {
    id: `00000000-0000-4000-8000-${String(invoices).padStart(12, '0')}`,
    type: 'ReceiveRequested',
    data: JSON.stringify({ invoice, text: 'x'.repeat(629 - invoice.length) }),
    meta: JSON.stringify({ text: 'y'.repeat(373) }),
  }
  const { outcome } = await store.append(`bare-${hex.slice(-32)}`, 'none', [event])
  if (outcome !== 'appended') throw new Error('append conflict in a stream that only this benchmark writes')
}
