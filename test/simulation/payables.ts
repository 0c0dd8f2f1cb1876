import { settlement as settlementContract } from '@penstock/contracts/settlement.ts'
import type { Order } from '@penstock/order/state.ts'
import { ask } from '@penstock/runtime/service.ts'
import { isOwing, type Settlement } from '@penstock/settlement/state.ts'
import { undecidedOrders } from '../faults/undecided.ts'
import type { Ledger } from './checks.ts'
import type { StrokeName } from './cues.ts'
import { command } from './deeds.ts'
import { isNo, Refused } from './market.ts'
import type { Subject } from './stage.ts'
import { type Doing, nothing } from './strokes-people.ts'
import { stateOf } from './watches.ts'
import type { World } from './world.ts'

const SIDES = ['seller', 'buyer', 'nobody'] as const
type Side = (typeof SIDES)[number]

const BY = { by: 'operator', reason: 'as the plan says' }
/** Another wallet of whoever bought: any node may take what is owed to a buyer. */
const OTHER_WALLET = 'spare'
const SHORT_SECONDS = 15
const LONG_SECONDS = 4 * 86_400

/** What people do about a payout that does not go its way. */
export const payables = {
  'the buyer asks for its money': async ({ world }, subject, much) => {
    const amountMsat = owedFor(subject.settlement)
    if (amountMsat === undefined) return nothing()
    await askForRefund(world, subject.id, much === 1 ? OTHER_WALLET : walletOf(world, subject.placed), amountMsat)
  },
  'the operator decides a payout': ({ world }, { id, settlement }, much) =>
    settlement && (much === 0 || !isOnItsWay(world, settlement)) ? decide(world, id, SIDES[much] ?? 'seller') : nothing(),
  'the operator retries a payout': async ({ world }, { id, settlement }) => {
    if (!settlement) return nothing()
    await command(world.market, ask(settlementContract, id, 'RetryPayoutNow', BY))
  },
} as const satisfies Partial<Record<StrokeName, Doing>>

/**
 * Whether a payment to the seller that was given up may come to the node yet. A wait takes a week of blocks, and seconds here:
 * only here it can be over before that.
 */
export const isOnItsWay = ({ plan: { faults } }: World, { payout }: Settlement): boolean =>
  payout.attempts > 0 && (faults.lightningLate !== undefined || faults.lightningOrphan !== undefined)

async function decide({ market, reached }: World, order: string, to: Side): Promise<void> {
  await command(market, ask(settlementContract, order, 'DecidePayout', { to, ...BY }))
  reached(to === 'nobody' ? 'by hand: decide for nobody' : `by hand: decide for the ${to}`)
}

/** By the form on the order's page, with a new invoice of that wallet. */
async function askForRefund({ market, simnet, reached }: World, order: string, alias: string, amountMsat: bigint): Promise<void> {
  // Its own node may be out of reach until this has expired; only then the form takes another.
  const seconds = alias === OTHER_WALLET ? LONG_SECONDS : SHORT_SECONDS
  const { invoice } = simnet.control.invoice(alias, amountMsat / 1000n, seconds)
  const refusal = await market.call((door) => door.refund(order, invoice))
  if (refusal !== undefined) throw new Refused(refusal)
  reached('by hand: ask for a refund')
}

/** What its seller was promised is what its buyer can get back. */
const owedFor = (state: Settlement | undefined): bigint | undefined =>
  state?.hold.noted ? BigInt(state.hold.noted.sellerAmountMsat) : undefined

function walletOf({ simnet }: World, { terms }: Subject['placed']): string {
  return simnet.control.nodes().find(({ pubkey }) => pubkey === terms.destination.pubkey)?.alias ?? OTHER_WALLET
}

/**
 * Whoever has a word about a payout says it, again until it is heard: the operator where a wait has ended, with any word at
 * all, and sometimes with another one at once; and the buyer where the share of its seller is owed to it.
 */
export function openPayables(world: World, ledger: Ledger): (height: number) => void {
  const { diary, engine } = world
  const draws = engine.schedule.random.fork('payables')
  const says = (what: string, does: () => Promise<void>): void => {
    diary.note(what)
    does().catch((error: unknown) => {
      if (!isNo(error)) world.blunders.push(error)
      diary.note(`${what}: ${error instanceof Refused ? error.message : 'no answer'}`)
    })
  }
  const decides = (order: string): void => {
    const state = stateOf(ledger, order)
    const to = state && isOnItsWay(world, state) ? 'seller' : draws.pick(SIDES)
    says(`the operator decides for ${to}: ${order}`, () => decide(world, order, to))
  }
  return (height) => {
    for (const order of undecidedOrders(ledger.asking(), height)) {
      decides(order)
      if (draws.chance(0.2)) decides(order)
    }
    for (const { stream } of ledger.asking()) {
      const id = stream.startsWith(PREFIX) ? stream.slice(PREFIX.length) : ''
      const state = stateOf(ledger, id)
      const amountMsat = owedFor(state)
      const placed = ledger.state(`order-${id}`) as Order | undefined // the category's own
      if (!state || amountMsat === undefined || !placed || placed.status === 'NONE' || !waitsForBuyer(state)) continue
      const alias = draws.chance(0.5) ? OTHER_WALLET : walletOf(world, placed)
      says(`the buyer asks for its money: ${id}`, () => askForRefund(world, id, alias, amountMsat))
    }
  }
}

const PREFIX = 'settlement-'

const waitsForBuyer = (state: Settlement): boolean =>
  isOwing(state) &&
  state.payout.creditor === 'buyer' &&
  Object.values(state.payout.invoices).every(
    ({ creditor, paymentHash, fate }) =>
      creditor === 'seller' ||
      fate === 'refused' ||
      (fate === 'taken' && !Object.values(state.payout.usable).includes(paymentHash)),
  )
