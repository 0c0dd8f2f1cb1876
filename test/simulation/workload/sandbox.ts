import type { SandboxBehavior } from '@penstock/contracts/payments/shapes.ts'
import type { TransactionAnswer } from '../invariants/payments.ts'
import type { SandboxInvoice } from '../plan/plan.ts'
import { isExpectedRefusal, retryWhileUnavailable } from '../world/gateway-access.ts'
import type { SimulatedWorld } from '../world/simulated-world.ts'
import {
  CREATE_ENDPOINT_MUTATION,
  type CreateEndpointData,
  CREATE_ENVIRONMENT_MUTATION,
  type CreateEnvironmentData,
  CREATE_RECEIVE_MUTATION,
  CREATE_SEND_MUTATION,
  type CreateTransactionData,
  endsAs,
  WALLETS_QUERY,
  type WalletsData,
} from '../../support/payments-client.ts'

type Team = { readonly key: string; readonly deadlineMs: number }
type Wallet = { readonly id: string; readonly graphql: <T>(query: string, variables: object) => Promise<T> }

/** Runs the team's invoices in a new sandbox. The team's developer gives up after a refusal, or at the deadline. */
export async function runSandboxInvoices(world: SimulatedWorld, { key, deadlineMs }: Team): Promise<void> {
  const { engine, market, plan } = world
  const { clock } = engine.schedule
  if (plan.sandboxInvoices.length === 0) return
  const graphql = <T>(query: string, variables: object): Promise<T> =>
    retryWhileUnavailable(clock, deadlineMs, () => market.graphql<T>(query, variables, key))
  await attempt(world, async () => {
    const wallet: Wallet = { id: await createSandbox(graphql), graphql }
    world.sandboxTokens.set(wallet.id, key)
    await Promise.all(plan.sandboxInvoices.map((invoice, index) => runInvoice(world, wallet, invoice, `invoice ${index + 1}`)))
  })
}

/** Creates an environment with a webhook endpoint. After a lost answer this creates another one, and the first one stays unused. */
async function createSandbox(graphql: Wallet['graphql']): Promise<string> {
  const { payment } = await graphql<CreateEnvironmentData>(CREATE_ENVIRONMENT_MUTATION, {
    input: { name: 'shop', type: 'SANDBOX' },
  })
  const input = { environment_id: payment.environment.create.id }
  await graphql<CreateEndpointData>(CREATE_ENDPOINT_MUTATION, { input: { ...input, url: 'https://shop.example/webhooks' } })
  const [wallet] = (await graphql<WalletsData>(WALLETS_QUERY, { input })).payment.wallet.find_many.list
  if (!wallet) throw new Error('the new sandbox has no wallet')
  return wallet.id
}

async function runInvoice(
  world: SimulatedWorld,
  wallet: Wallet,
  { atMs, behavior, expirySeconds, callDelaysMs, sends }: SandboxInvoice,
  name: string,
): Promise<void> {
  const { clock } = world.engine.schedule
  await clock.sleep(atMs)
  const receive = await requestOften(world, wallet, {
    direction: 'receive',
    callDelaysMs,
    input: { ...toInput(wallet, name, behavior), amount: '2500', expires_in_seconds: expirySeconds },
  })
  const invoice = receive?.payment_request
  if (invoice === undefined) return
  await Promise.all(
    sends.map((send, index) => {
      const input = { ...toInput(wallet, `${name}, send ${index + 1}`, send.behavior), request: { bolt11: invoice } }
      return requestOften(world, wallet, { direction: 'send', callDelaysMs: send.callDelaysMs, input })
    }),
  )
}

const toInput = (wallet: Wallet, idempotencyKey: string, behavior: SandboxBehavior) => ({
  wallet_id: wallet.id,
  idempotency_key: idempotencyKey,
  ...endsAs(behavior),
})

type Request = {
  readonly direction: 'receive' | 'send'
  readonly callDelaysMs: readonly number[]
  readonly input: ReturnType<typeof toInput> & Readonly<Record<string, unknown>>
}

/** Makes calls with the same key. @returns the transaction of one answer; undefined without any answer */
async function requestOften(world: SimulatedWorld, { graphql }: Wallet, { direction, callDelaysMs, input }: Request) {
  const { clock } = world.engine.schedule
  const mutation = direction === 'receive' ? CREATE_RECEIVE_MUTATION : CREATE_SEND_MUTATION
  const answers = await Promise.all(
    callDelaysMs.map((delayMs) =>
      attempt(world, async () => {
        await clock.sleep(delayMs)
        const { transaction } = (await graphql<CreateTransactionData>(mutation, { input })).payment
        const answer = { direction, idempotencyKey: input.idempotency_key, ...transaction.created }
        if (world.transactionAnswers.some((earlier) => isSameKey(earlier, answer)))
          world.countOccurrence('idempotency key that was repeated')
        world.transactionAnswers.push(answer)
        return answer
      }),
    ),
  )
  return answers.find((answer) => answer !== undefined)
}

const isSameKey = (one: TransactionAnswer, other: TransactionAnswer): boolean =>
  one.direction === other.direction && one.idempotencyKey === other.idempotencyKey

/** @returns undefined after an expected refusal */
async function attempt<T>({ trace, unexpectedErrors }: SimulatedWorld, act: () => Promise<T>): Promise<T | undefined> {
  try {
    return await act()
  } catch (error) {
    if (!isExpectedRefusal(error)) unexpectedErrors.push(error)
    trace.note(`payments: ${String(error)}`)
    return undefined
  }
}
