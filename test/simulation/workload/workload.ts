import { command } from '@penstock/kernel/process.ts'
import type { EmailClaimTarget } from '@penstock/contracts/accounts.ts'
import type { SellerTarget } from '@penstock/contracts/matching.ts'
import { hashCredential, hashEmail, newCredential } from '@penstock/credentials/credentials.ts'
import { systemIds } from '@penstock/adapters/system/ids.ts'
import type { Ids } from '@penstock/ports/clock.ts'
import { toOfferInput, type SellerTerms } from '@penstock/seller-agent/terms.ts'
import { runPurchase } from './buyers.ts'
import { runSandboxInvoices } from './sandbox.ts'
import type { FoldedLog } from '../invariants/folded-log.ts'
import type { ProcessHost } from '../world/process-host.ts'
import { sendOperatorCommand, performAction, type OperatorContext, rejectSales } from './operator-actions.ts'
import { retryWhileUnavailable } from '../world/gateway-access.ts'
import type { TriggerRunner } from '../injections/trigger-runner.ts'
import { REPLICAS } from '../plan/plan.ts'
import { createSellerTerms } from '../world/seller-agents.ts'
import type { BoughtOrder, SellerAccount } from '../injections/injection-context.ts'
import { restoreNetwork, applyNetworkEvent } from './network-events.ts'
import type { SimulatedWorld } from '../world/simulated-world.ts'
import { CHALLENGE_MUTATION, CONNECT_MUTATION, CREATE_OFFER_MUTATION } from '../../support/market-operations.ts'

const PRICE_QUERY = '{ market { liquidity { liquidity_per_usd { sats } } } }'
const OPENING_TIMEOUT_MS = 60_000

/** Starts the processes and opens accounts. Then it runs the plan's purchases, actions, network events and kills, with faults. */
export async function runSimulatedWorkload(
  world: SimulatedWorld,
  host: ProcessHost,
  log: FoldedLog,
  triggers: TriggerRunner,
): Promise<void> {
  const { engine, plan, market, simnet, trace, countOccurrence } = world
  const { clock, random } = engine.schedule
  if (!plan.canCrashWhileOpening) engine.faults.disable()
  for (const name of REPLICAS) host.startReplica(name)
  const ids = systemIds(() => clock.now(), random.fork('people').bytes)
  const openingDeadline = clock.now() + OPENING_TIMEOUT_MS
  const buyerKey = await retryWhileUnavailable(clock, openingDeadline, () => openAccount(world, ids, 'buyer@people.invalid'))
  const sellers = await openSellers(world, host, ids, openingDeadline)
  await retryUntil(world, openingDeadline, () => market.graphql(PRICE_QUERY, {}))
  trace.note('the market is open')

  engine.faults.enable()
  const deadlineMs = clock.now() + plan.workloadMs
  const note = (text: string): void => trace.note(text)
  const onUnexpectedError = (error: unknown): void => void world.unexpectedErrors.push(error)
  const operatorContext: OperatorContext = {
    clock,
    market,
    draws: random.fork('hands'),
    deadlineMs,
    sellers,
    note,
    countOccurrence,
    onUnexpectedError,
  }
  const boughtOrders = new Map<string, BoughtOrder>()
  triggers.start({ world, host, log, draws: random.fork('strokes'), sellers, boughtOrders, invoices: new Map() })
  const networkContext = {
    simnet,
    clock,
    draws: random.fork('sky'),
    note,
    countOccurrence,
    listPaidFundings: () => listPaidFundings(log),
  }
  const buyerContext = { clock, market, control: simnet.control, deadlineMs, boughtOrders, countOccurrence, onUnexpectedError }
  await Promise.all([
    ...plan.purchases.map((purchase) => runPurchase(buyerContext, purchase, buyerKey, note)),
    runSandboxInvoices(world, { key: buyerKey, deadlineMs }),
    ...plan.networkEvents.map((networkEvent) => applyNetworkEvent(networkContext, networkEvent)),
    ...plan.operatorActions.map((action) => performAction(operatorContext, action)),
    ...plan.sellers.map(({ alias, acceptsAutomatically, answer }) =>
      acceptsAutomatically ? undefined : rejectSales(operatorContext, alias, answer),
    ),
    ...plan.kills.map(async ({ process, atMs, awayMs }) => {
      await clock.sleep(atMs)
      host.kill(process, awayMs)
    }),
    clock.sleep(plan.workloadMs),
  ])
  engine.faults.disable()
  restoreNetwork(simnet)
  note('the faults have stopped')
}

/** Opens an account for each seller, and starts its agent. A seller that would not accept orders gets an offer without agent. */
async function openSellers(
  world: SimulatedWorld,
  host: ProcessHost,
  ids: Ids,
  openingDeadline: number,
): Promise<Map<string, { key: string; pubkey: string }>> {
  const { plan, market, simnet } = world
  const sellers = new Map<string, { key: string; pubkey: string }>()
  for (const [index, seller] of plan.sellers.entries()) {
    const { alias } = seller
    const key = await openAccount(world, ids, `${alias}@people.invalid`)
    const pubkey = simnet.control.nodes().find((node) => node.alias === alias)?.pubkey ?? ''
    sellers.set(alias, { key, pubkey })
    const grantReason = { by: 'operator', reason: 'One of the first sellers.' }
    if (index < 2)
      await sendOperatorCommand(market, command<SellerTarget>('seller', pubkey, { type: 'GrantRails', data: grantReason }))
    if (seller.answer === 'accepts' || seller.acceptsAutomatically) host.startAgent(alias, createSellerTerms(index, seller), key)
    else await createOfferManually(world, { key, pubkey, alias }, createSellerTerms(index, seller), openingDeadline)
  }
  return sellers
}

/** Connects a seller's node and creates an offer by the API, for a seller without an agent. */
async function createOfferManually(
  { engine, market, simnet }: SimulatedWorld,
  { key, pubkey, alias }: SellerAccount & { readonly alias: string },
  terms: SellerTerms,
  deadlineMs: number,
): Promise<void> {
  type Challenge = { account: { node: { challenge: string } } }
  const { challenge } = (await market.graphql<Challenge>(CHALLENGE_MUTATION, { pubkey }, key)).account.node
  const { signature } = simnet.control.sign(alias, challenge)
  await market.graphql(CONNECT_MUTATION, { input: { pubkey, challenge, signature } }, key)
  await retryWhileUnavailable(engine.schedule.clock, deadlineMs, () =>
    market.graphql(CREATE_OFFER_MUTATION, { input: { pubkey, ...toOfferInput(terms) } }, key),
  )
}

async function retryUntil(world: SimulatedWorld, deadlineMs: number, request: () => Promise<unknown>): Promise<void> {
  const { clock } = world.engine.schedule
  for (;;)
    try {
      return void (await request())
    } catch (error) {
      if (clock.now() > deadlineMs) throw error
      await clock.sleep(200)
    }
}

/** Creates an account with a dashboard token by a command. The sign-up form hashes a password, which needs a real thread. */
export async function openAccount({ market, pepper, engine }: SimulatedWorld, ids: Ids, email: string): Promise<string> {
  const { clock } = engine.schedule
  const token = newCredential('pdt_', ids)
  const accountId = ids.uuid()
  const claim = {
    accountId,
    emailRecord: ids.uuid(),
    passwordRecord: ids.uuid(),
    tokenHash: hashCredential(pepper, token),
    tokenExpiresAt: clock.now() + 86_400_000,
  }
  await sendOperatorCommand(
    market,
    command<EmailClaimTarget>('email', hashEmail(pepper, email), { type: 'ClaimEmail', data: claim }),
  )
  await retryUntil({ engine } as SimulatedWorld, clock.now() + OPENING_TIMEOUT_MS, () =>
    market.graphql('{ account { me { id } } }', {}, token),
  )
  return token
}

const listPaidFundings = ({ events }: FoldedLog): ReadonlySet<string> =>
  new Set(
    events.flatMap(({ category, fact }) => {
      if (category !== 'settlement' || fact.type !== 'SettlementStarted') return []
      const { proof } = fact.data as { readonly proof: { readonly outpoint: string } } // By its contract.
      return [proof.outpoint.split(':')[0] ?? '']
    }),
  )
