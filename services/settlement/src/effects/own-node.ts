import type { SettlementCommand } from '@penstock/contracts/settlement.ts'
import { Fault } from '@penstock/kernel/result.ts'
import type { NodeInfo } from '@penstock/ports/lightning.ts'
import { within } from '@penstock/ports/within.ts'
import type { Effect } from '@penstock/runtime/service.ts'
import { awaitsCancel } from '../cancel.decide.ts'
import type { Hold } from '../hold.ts'
import { payeeOf } from '../payout.ts'
import { isOwing, type Settlement } from '../state.ts'
import type { Custody, Sight } from './custody.ts'
import type { Context, SettlementPorts } from './ports.ts'

type MoneyEffect = Effect<Settlement, SettlementCommand, SettlementPorts>

const ANSWER_TIMEOUT_MS = 10_000
/** How many orders a line of the log names. */
const NAMED = 20

/** @returns whether the order's payment is at another node than this one */
export const isElsewhere = ({ request }: Hold, pubkey: string): boolean => request !== null && request.node !== pubkey

/** @throws Fault where the node that answers us is not the one that has the order's payment */
export async function atItsNode({ lightning, clock }: Context['ports'], hold: Hold): Promise<void> {
  const { pubkey } = await within(clock, ANSWER_TIMEOUT_MS, lightning.info())
  if (isElsewhere(hold, pubkey)) throw elsewhere(hold, pubkey)
}

/** The node that answers us now; undefined where none does. */
export async function nodeNow({ lightning, clock }: Context['ports']): Promise<NodeInfo | undefined> {
  try {
    return await within(clock, ANSWER_TIMEOUT_MS, lightning.info())
  } catch (error) {
    if (error instanceof Fault) return undefined
    throw error
  }
}

/** Whether it has what there is to know of a channel: one that has just come back may lack blocks and announcements. */
export const isReady = ({ synced, graphSynced }: NodeInfo): boolean => synced && graphSynced

/** Orders that need another node, to be settled, given back or paid. */
export const strandedIn = ({ orders, node }: Sight, now: number): readonly (readonly [string, Settlement])[] =>
  node === undefined ? [] : [...orders].filter(([, state]) => isElsewhere(state.hold, node) && needsNode(state, now))

/** Whose invoice cannot be paid any more, or whose seller cannot be paid yet, waits for no node. */
function needsNode(state: Settlement, now: number): boolean {
  const { hold, payout } = state
  switch (hold.status) {
    case 'open':
      return hold.invoice !== null && hold.invoice.expiresAt > now
    case 'held':
    case 'settling':
      return true
    case 'settled':
    case 'cancelled':
      return (
        awaitsCancel(hold) ||
        (isOwing(state) &&
          (payout.paying !== null ||
            payeeOf({ creditor: payout.creditor, payee: hold.noted?.terms.sellerPubkey ?? '' }) in payout.usable))
      )
    default:
      return awaitsCancel(hold)
  }
}

/**
 * Says once, and again after each change, what an operator has to do about them. It keeps nobody from working: orders at
 * this node are served, and those at the other one are shown.
 */
export function tellStranded({ log, clock }: Context['ports'], custody: Custody): void {
  const sight = custody.sight.last
  const stranded = sight ? strandedIn(sight, clock.now()) : []
  const known = custody.stranded
  custody.stranded = [...stranded.map(([id]) => id).toSorted(), ...(stranded.length > 0 ? [sight?.node] : [])].join(' ')
  if (stranded.length === 0 || custody.stranded === known) return
  const nodes = [...new Set(stranded.map(([, { hold }]) => hold.request?.node))]
  log.error(
    { orders: stranded.length, first: stranded.slice(0, NAMED).map(([id]) => id), nodes, connected: sight?.node },
    'the money of open orders is at another node than the one that is connected; nothing of theirs is settled, given back or paid before that one is again (PENSTOCK_LND_SOCKET)',
  )
}

const elsewhere = ({ request }: Hold, pubkey: string): Fault =>
  new Fault(`the order's payment is at the node ${request?.node}, and the market is connected to ${pubkey}`)

/**
 * What an effect does and learns counts at the node that has the payment alone. Another one, behind the same address, has
 * never heard of the hash: its silence would be taken for the end of a hold, or for a payout that was never sent.
 */
export const boundToNode =
  (effect: MoneyEffect): MoneyEffect =>
  async (state, context) => {
    await atItsNode(context.ports, state.hold)
    const told = await effect(state, context)
    await atItsNode(context.ports, state.hold)
    return told
  }
